package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ticketrail/receiver/contract"
)

// Faults are what a client of the service must survive. A fault acts either before the answer is
// made (applyRequestFaults) or on the complete answer (applyAnswerFaults, exchange.write).

// Kind is what goes wrong in a fault.
type Kind string

// The kinds. Their values are the names that [ParseFault] reads.
const (
	Answers    Kind = "answers"      // the status is [Fault.Status]
	Slow       Kind = "slow"         // the answer comes after [Fault.For]
	Hang       Kind = "hang"         // no answer comes; the request ends when the caller hangs up
	Truncated  Kind = "truncated"    // half the JSON, with a matching Content-Length
	Broken     Kind = "broken"       // the connection is closed in the middle of the body
	NonJSON    Kind = "nonjson"      // an HTML page with status 200
	Redirect   Kind = "redirect"     // 302 to a path of this service that does not exist
	NoSuccess  Kind = "unsuccessful" // status 200, but the envelope's status is ERROR
	SameCursor Kind = "samecursor"   // a page names itself as the next page
	Churn      Kind = "churn"        // after each answer an employee is added, removed or renamed
	Large      Kind = "large"        // 64 MiB of spaces before the answer
)

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{Answers, Slow, Hang, Truncated, Broken, NonJSON, Redirect, NoSuccess, SameCursor, Churn, Large}
}

// A Fault makes calls fail in one way.
type Fault struct {
	Call   Call // empty: any
	Kind   Kind
	Status int           // of [Answers], 400 to 599
	For    time.Duration // of [Slow]; 0: 7 s, longer than the 5 s that a webhook has to answer
	Times  int           // how many calls are hit; 0: no limit
}

// largeBytes is far above any real list, but harmless to a client that stops reading.
const largeBytes = 64 << 20

// ParseFault reads CALL:KIND[=DURATION][:TIMES], for example employees:500, token:slow=3s, me:401:2. The call
// is one of [Calls] or "any". A kind is one of [Kinds], or a status from 400 to 599.
func ParseFault(text string) (Fault, error) {
	wrong := func(format string, args ...any) (Fault, error) {
		return Fault{}, fmt.Errorf("fault %q: %s; write CALL:KIND[=DURATION][:TIMES], for example employees:500:2 or "+
			"token:slow=3s", text, fmt.Sprintf(format, args...))
	}
	call, rest, _ := strings.Cut(text, ":")
	rest, times, limited := strings.Cut(rest, ":")
	kind, duration, timed := strings.Cut(rest, "=")
	f := Fault{Call: Call(call), Kind: Kind(kind)}
	status, noStatus := strconv.Atoi(kind)
	if noStatus == nil {
		f.Kind, f.Status = Answers, status
	}

	var noTimes, noDuration error
	if limited {
		f.Times, noTimes = strconv.Atoi(times)
	}
	if timed {
		f.For, noDuration = time.ParseDuration(duration)
	}
	switch {
	case call != "any" && !slices.Contains(Calls(), f.Call):
		return wrong("%q is not a call; use any, %s", call, join(Calls()))
	case !slices.Contains(Kinds(), f.Kind):
		return wrong("%q is not a kind; use a status, %s", kind, join(Kinds()[1:]))
	case f.Kind == Answers && (status < 400 || status > 599):
		return wrong("%q is not an error status; use 400 to 599", kind)
	case timed && f.Kind != Slow:
		return wrong("%s takes no duration", kind)
	case noDuration != nil || timed && f.For <= 0:
		return wrong("%q is not a duration; use for example 90s", duration)
	case noTimes != nil || limited && f.Times < 1:
		return wrong("%q is not a number of times; use 1 or more", times)
	case call == "any":
		f.Call = ""
	}
	return f, nil
}

func join[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// Fault adds a fault. A call may be hit by several.
func (s *Service) Fault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// ClearFaults removes all faults.
func (s *Service) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// activeFaults are the faults that hit one exchange.
type activeFaults []Fault

func (s activeFaults) has(k Kind) bool {
	return slices.ContainsFunc(s, func(f Fault) bool { return f.Kind == k })
}

// faultsOf returns the faults that hit a call, and counts them: one without a limit counts below zero. The caller
// holds mu.
func (s *Service) faultsOf(c Call) (hit activeFaults) {
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
			if !sleep(x.r.Context(), cmp.Or(f.For, 7*time.Second)) {
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
		case Redirect:
			x.header.Set("Location", x.s.o.Prefix+"/elsewhere")
			x.status = http.StatusFound
		}
	}
	return true
}

// applyAnswerFaults applies the faults that change an answer.
func (x *exchange) applyAnswerFaults() {
	for _, f := range x.faults {
		switch f.Kind {
		// The Content-Length matches, so only the JSON parser can notice.
		case Truncated:
			x.body = x.body[:len(x.body)/2]
		case NonJSON:
			x.status, x.body = http.StatusOK, []byte(maintenancePage)
			x.header.Set("Content-Type", "text/html; charset=utf-8")
		// Only the first one, which is the envelope's own: its keys are sorted, and records do not
		// contain the word.
		case NoSuccess:
			if x.status == http.StatusOK {
				x.body = bytes.Replace(x.body, []byte(`"`+contract.ValueSuccess+`"`),
					[]byte(`"`+contract.ValueError+`"`), 1)
			}
		case Churn:
			if x.venue != "" && x.status == http.StatusOK {
				x.s.changeStaff(x.venue)
			}
		}
	}
}

// maintenancePage is what a load balancer sends while the service behind it is down.
const maintenancePage = "<!doctype html>\n<html><body><h1>Scheduled maintenance</h1>" +
	"<p>We will be right back.</p></body></html>\n"
