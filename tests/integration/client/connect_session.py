"""``python connect_session.py``: a session of Spark Connect is watched; ASSAY_URL and ASSAY_TOKEN say by whom."""

import warnings

from pyspark.sql import SparkSession

from assay_client.queries import AssayWarning, DataIsBad
from assay_client.spark import watch
from execution_engine.engines.spark.session import use_java

SQL = "select count(*) from raw.trips"


def main() -> None:
    use_java()
    builder: SparkSession.Builder = SparkSession.builder
    spark = builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    print(type(spark).__module__)
    spark.sql("create schema raw")
    spark.range(1).write.format("parquet").saveAsTable("raw.trips")
    try:
        with watch(spark), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spark.sql(SQL).collect()
        print("warned", sum(issubclass(each.category, AssayWarning) for each in caught))
        with watch(spark, on_bad="raise"):
            try:
                spark.sql(SQL)
            except DataIsBad:
                print("raised")
        print("undone", spark.sql(SQL).collect()[0][0])
    finally:
        spark.sql("drop schema raw cascade")
        spark.stop()


if __name__ == "__main__":
    main()
