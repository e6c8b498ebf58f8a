package main

import (
	"encoding/json"
	"io"
	"net/url"
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
	Complete bool         `json:"complete"`
	Checks   []sim.Result `json:"checks"`
}

func newReport(to *url.URL) *report {
	return &report{Endpoint: to.Scheme + "://" + to.Host, Started: time.Now(), Checks: []sim.Result{}}
}

// add counts a result.
func (r *report) add(result sim.Result) {
	switch result.Verdict {
	case sim.Pass:
		r.Passed++
	case sim.Fail:
		r.Failed++
	case sim.Unseen:
		r.Unseen++
	}
	r.TookMS = time.Since(r.Started).Milliseconds()
	r.Checks = append(r.Checks, result)
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
