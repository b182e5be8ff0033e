"""``python connect_server.py PORT``: a Spark Connect server until its standard input ends."""

import os
import sys

from pyspark.sql import SparkSession

from assay.spark_conf import SAFE
from execution_engine.engines.spark.session import use_java


def serve(port: str) -> None:
    """As deploy/spark/spark-defaults.conf starts one: users' SQL is bounded, and its Python has what tasks need."""
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.master("local[2]").config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    builder = builder.config("spark.connect.grpc.binding.port", port).config("spark.ui.enabled", "false")
    for name, value in SAFE.items():
        builder = builder.config(name, value)
    builder.config("spark.connect.grpc.binding.address", "127.0.0.1").getOrCreate()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
