"""The rows of bench/training-rows.ts for the Python contestants: their numbers, read from the file STIFFGRAD_BENCH_NUMBERS."""
import json
import os


def numbers(name):
    with open(os.environ["STIFFGRAD_BENCH_NUMBERS"]) as file:
        return json.load(file)[name]
