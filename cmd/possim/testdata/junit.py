"""Reads a JUnit report as CI systems do, by the schema of Ant's junitreport, and prints its totals."""

import sys
import xml.etree.ElementTree as tree
from datetime import datetime

root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites", root.tag
(suite,) = root
assert suite.tag == "testsuite", suite.tag
allowed = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"}
assert set(suite.attrib) == allowed, suite.attrib
datetime.strptime(suite.get("timestamp"), "%Y-%m-%dT%H:%M:%S")
cases = list(suite)
failed = unseen = 0
for case in cases:
    assert case.tag == "testcase" and set(case.attrib) == {"classname", "name", "time"}, case.attrib
    assert float(case.get("time")) >= 0
    assert len(case) <= 1, "one outcome at most"
    for outcome in case:
        assert outcome.get("message"), case.get("name")
        failed += outcome.tag == "failure"
        unseen += outcome.tag == "skipped"
        assert outcome.tag in ("failure", "skipped"), outcome.tag
for e in (root, suite):
    assert (int(e.get("tests")), int(e.get("failures")), int(e.get("skipped"))) == (len(cases), failed, unseen), e.attrib
assert len({(c.get("classname"), c.get("name")) for c in cases}) == len(cases), "two cases have one name"
print("%d checks, %d failed, %d unseen" % (len(cases), failed, unseen))
