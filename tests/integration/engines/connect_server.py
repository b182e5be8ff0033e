"""``python connect_server.py PORT``: a Spark Connect server until its standard input ends."""

import sys

from pyspark.sql import SparkSession

from execution_engine.engines.spark.start.java import use_java


def serve(port: str) -> None:
    use_java()
    builder: SparkSession.Builder = SparkSession.builder
    builder = builder.master("local[2]").config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    builder = builder.config("spark.connect.grpc.binding.port", port).config("spark.ui.enabled", "false")
    builder.config("spark.connect.grpc.binding.address", "127.0.0.1").getOrCreate()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
