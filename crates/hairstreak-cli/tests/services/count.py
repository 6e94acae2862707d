"""Adds one to a counter in SQLite, in one transaction with the request's id: whoever does the request again finds it done."""

import os
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
request = os.environ["HAIRSTREAK_REQUEST"]
database.execute("BEGIN IMMEDIATE")
row = database.execute("SELECT reply FROM replies WHERE request = ?", (request,)).fetchone()
if row is None:
    database.execute("UPDATE counter SET value = value + 1")
    row = database.execute("SELECT value FROM counter").fetchone()
    database.execute("INSERT INTO replies VALUES (?, ?)", (request, row[0]))
database.execute("COMMIT")
print(row[0], end="")
