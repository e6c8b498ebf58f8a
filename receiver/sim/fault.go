package sim

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Faults are failures that a client of the service must survive. A fault acts either before the answer is
// made (applyRequestFaults) or on the complete answer (applyAnswerFaults).

// FaultKind is the failure of a fault.
type FaultKind string

// The kinds. Their values are the names that [ParseFault] reads.
const (
	Answers FaultKind = "answers" // the status is [Fault.Status]
	Slow    FaultKind = "slow"    // the answer comes after 7 s
	Hang    FaultKind = "hang"    // no answer comes; the request ends when the caller hangs up
	NonJSON FaultKind = "nonjson" // an HTML page with status 200
	Churn   FaultKind = "churn"   // after each answer the venue has one employee less
)

// A Fault makes calls fail in one way.
type Fault struct {
	Call   Call // empty: any
	Kind   FaultKind
	Status int // of [Answers], 400 to 599
	Times  int // how many calls are hit; 0: no limit
}

// slowness is longer than a client of the service should wait for it.
const slowness = 7 * time.Second

// ParseFault reads CALL:KIND[:TIMES], for example employees:500, token:slow, me:401:2. The call is token, me,
// employees, payrollperiods or any; the kind is a status from 400 to 599, slow, hang, nonjson or churn.
func ParseFault(text string) (Fault, error) {
	part := faultText.FindStringSubmatch(text)

	if part == nil {
		return Fault{}, fmt.Errorf("fault %q: want CALL:KIND[:TIMES], for example employees:500:2 or token:slow; "+
			"calls are token, me, employees, payrollperiods and any; kinds are a status from 400 to 599, slow, hang, "+
			"nonjson and churn", text)
	}

	fault := Fault{Call: Call(part[1]), Kind: FaultKind(part[2])}
	if fault.Call == "any" {
		fault.Call = ""
	}

	if status, err := strconv.Atoi(part[2]); err == nil {
		fault.Kind, fault.Status = Answers, status
	}

	fault.Times, _ = strconv.Atoi(part[3])
	return fault, nil
}

var faultText = regexp.MustCompile(
	`^(token|me|employees|payrollperiods|any):([45]\d\d|slow|hang|nonjson|churn)(?::([1-9]\d{0,8}))?$`)

// Fault adds a fault. A call may be hit by several.
func (s *Service) Fault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// faultsOf returns the faults that hit a call, and counts them: one without a limit counts below zero. The caller
// holds mu.
func (s *Service) faultsOf(c Call) (hit []Fault) {
	s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool {
		if f.Call != "" && f.Call != c {
			return false
		}
		hit = append(hit, *f)
		f.Times--
		return f.Times == 0
	})

	return hit
}

// applyRequestFaults applies the faults that act before the answer or instead of it. It returns
// false when the caller has hung up.
func (x *exchange) applyRequestFaults() bool {
	for _, f := range x.faults {
		switch f.Kind {
		case Slow:
			if !sleep(x.r.Context(), slowness) {
				return false
			}
		case Hang:
			<-x.r.Context().Done()
			return false
		case Answers:
			// The shortest pause, so that a test in real time stays short.
			if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
				x.header.Set("Retry-After", "1")
			}
			x.refuse(f.Status, "fault", "a simulated fault")
		}
	}
	return true
}

// applyAnswerFaults applies the faults that change an answer.
func (x *exchange) applyAnswerFaults() {
	for _, f := range x.faults {
		switch f.Kind {
		case NonJSON:
			x.status, x.body = http.StatusOK, []byte(maintenancePage)
			x.header.Set("Content-Type", "text/html; charset=utf-8")
		case Churn:
			if x.venue != "" && x.status == http.StatusOK {
				x.s.dismiss(x.venue)
			}
		}
	}
}

// maintenancePage is the answer of a load balancer while the service behind it is down.
const maintenancePage = "<!doctype html>\n<html><body><h1>Scheduled maintenance</h1>" +
	"<p>We will be right back.</p></body></html>\n"
