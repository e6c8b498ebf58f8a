package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"ticketrail/receiver/sim"
)

// A report is the result of possim check for programs. Its keys are fixed.
type report struct {
	// Endpoint is the address without its path, which may be a secret.
	Endpoint string    `json:"endpoint"`
	Started  time.Time `json:"started"`
	TookMS   int64     `json:"took_ms"`
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Unseen   int       `json:"unseen"`
	// Complete is false if the check was stopped: what was not checked is not met.
	Complete bool          `json:"complete"`
	Checks   []reportCheck `json:"checks"`
}

type reportCheck struct {
	sim.Result
	TookMS int64 `json:"took_ms"`
	// Wire are the first and the last exchange in the folder of --record; null if nothing was sent.
	Wire []int `json:"wire"`
}

func newReport(to *url.URL) *report {
	return &report{Endpoint: to.Scheme + "://" + to.Host, Started: time.Now(), Checks: []reportCheck{}}
}

// add counts a result. before and after are the last exchanges before and after it.
func (r *report) add(result sim.Result, before, after int) reportCheck {
	c := reportCheck{Result: result, TookMS: result.Took.Milliseconds()}
	if after > before {
		c.Wire = []int{before + 1, after}
	}
	switch result.Verdict {
	case sim.Pass:
		r.Passed++
	case sim.Fail:
		r.Failed++
	case sim.Unseen:
		r.Unseen++
	}
	r.TookMS = time.Since(r.Started).Milliseconds()
	r.Checks = append(r.Checks, c)
	return c
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// The elements and attributes of a JUnit report, as Ant's junitreport defined them and CI systems
// read them. A check that is unseen is skipped there: JUnit has no other word for it.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"` // seconds
		Timestamp string      `xml:"timestamp,attr"`
		Hostname  string      `xml:"hostname,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Skipped *junitProblem `xml:"skipped"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

// writeJUnit writes a new file or replaces an old one, as CI systems expect.
func (r *report) writeJUnit(path string) error {
	s := junitSuite{
		Name: "possim check", Tests: len(r.Checks), Failures: r.Failed, Skipped: r.Unseen, Time: seconds(r.TookMS),
		Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05"), Hostname: r.Endpoint,
	}
	for _, c := range r.Checks {
		j := junitCase{Class: "contract section " + c.Section, Name: c.Name, Time: seconds(c.TookMS)}
		switch c.Verdict {
		case sim.Fail:
			j.Failure = &junitProblem{c.Got, "contract", fmt.Sprintf("want %s; got %s", c.Want, c.Got)}
		case sim.Unseen:
			j.Skipped = &junitProblem{Message: "unseen: " + c.Got}
		}
		s.Cases = append(s.Cases, j)
	}
	b, err := xml.MarshalIndent(junitSuites{
		Tests: s.Tests, Failures: s.Failures, Skipped: s.Skipped, Time: s.Time, Suite: s,
	}, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append([]byte(xml.Header), append(b, '\n')...), 0o644)
	}
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}
