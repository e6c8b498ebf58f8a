package sim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
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
	Drift      Kind = "drift"        // the service's clock is ahead by [Fault.For]; several add up
	Redirect   Kind = "redirect"     // 302 to [Fault.To]
	NoSuccess  Kind = "unsuccessful" // status 200, but the envelope's status is ERROR
	SameCursor Kind = "samecursor"   // a page names itself as the next page
	Churn      Kind = "churn"        // after each answer an employee is added, removed or renamed
	Large      Kind = "large"        // 64 MiB of spaces before the answer
)

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{Answers, Slow, Hang, Truncated, Broken, NonJSON, Drift, Redirect, NoSuccess, SameCursor, Churn, Large}
}

// A Fault makes calls fail in one way.
type Fault struct {
	Call   Call // empty: any
	Kind   Kind
	Status int           // of [Answers], 400 to 599
	For    time.Duration // of [Slow] (default 7 s) and [Drift] (default 5 minutes)
	To     string        // of [Redirect]; default: a path of this service that does not exist
	Chance float64       // that a call is hit, 0 to 1, by the seed; 0: every call is hit
	Times  int           // how many calls are hit; 0: no limit
}

// Defaults of [Fault.For], and the size of [Large].
const (
	defaultSlow  = 7 * time.Second // longer than the 5 s that a webhook has to answer
	defaultDrift = 5 * time.Minute
	largeBytes   = 64 << 20 // far above any real list, but harmless to a client that stops reading
)

// ParseFault reads CALL:KIND[=VALUE][:CHANCE[:TIMES]], for example employees:500:0.1,
// token:slow=3s, any:drift=90s, me:401:1:2. The call is one of [Calls] or "any". Instead of a kind
// a status from 400 to 599 may be given.
//
// It reads from the end: the number of times, then the chance, because a value may contain colons.
func ParseFault(text string) (Fault, error) {
	wrong := func(format string, args ...any) (Fault, error) {
		return Fault{}, fmt.Errorf(
			"fault %q: %s; write CALL:KIND[=VALUE][:CHANCE[:TIMES]], for example employees:500:0.1 or "+
				"token:slow=3s",
			text,
			fmt.Sprintf(format, args...),
		)
	}
	call, rest, _ := strings.Cut(text, ":")
	f := Fault{Call: Call(call)}
	switch {
	case call == "any":
		f.Call = ""
	case !slices.Contains(Calls(), f.Call):
		return wrong("%q is not a call; use any, %s", call, join(Calls()))
	}
	// A redirect's URL contains colons, and its port is a number. A number above 1 after it is
	// therefore the port and not a wrong chance.
	words := strings.Split(rest, ":")
	chance := func(s string) (p float64, ok bool) {
		p, err := strconv.ParseFloat(s, 64)
		return p, err == nil && (p <= 1 || !strings.HasPrefix(rest, string(Redirect)+"="))
	}
	if last := len(words) - 1; last >= 2 {
		n, err := strconv.Atoi(words[last])
		if _, ok := chance(words[last-1]); ok && err == nil {
			if n < 1 {
				return wrong("%d is not a number of times; use 1 or more", n)
			}
			f.Times, words = n, words[:last]
		}
	}
	if last := len(words) - 1; last >= 1 {
		if p, ok := chance(words[last]); ok {
			// Written this way, because NaN fails every comparison.
			if !(p > 0 && p <= 1) {
				return wrong("%s is not a chance; use a number above 0, up to 1", words[last])
			}
			f.Chance, words = p, words[:last]
		}
	}
	kind, value, given := strings.Cut(strings.Join(words, ":"), "=")
	if err := f.set(kind, value, given); err != nil {
		return wrong("%v", err)
	}
	return f, nil
}

// set reads KIND[=VALUE]; given says whether there is a value. "answers" is refused: it would have
// no status.
func (f *Fault) set(kind, value string, given bool) (err error) {
	if n, err := strconv.Atoi(kind); err == nil && !given {
		if n < 400 || n > 599 {
			return fmt.Errorf("%d is not an error status; use 400 to 599", n)
		}
		f.Kind, f.Status = Answers, n
		return nil
	}
	f.Kind = Kind(kind)
	switch {
	case f.Kind == Answers:
		return errors.New("write the status itself, for example employees:500")
	case !slices.Contains(Kinds(), f.Kind):
		return fmt.Errorf("%q is not a kind; use a status, %s", kind, join(Kinds()[1:]))
	case !given:
		return nil
	case f.Kind == Slow || f.Kind == Drift:
		if f.For, err = time.ParseDuration(value); err != nil || f.Kind == Slow && f.For <= 0 || f.For == 0 {
			return fmt.Errorf("%q is not a duration; use for example 90s", value)
		}
		return nil
	case f.Kind == Redirect:
		f.To = value
		return nil
	}
	return fmt.Errorf("%s takes no value", kind)
}

func join[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// String is the fault as CALL:KIND[=VALUE], for logs.
func (f Fault) String() string {
	s := string(f.Kind)
	switch f.Kind {
	case Answers:
		s = strconv.Itoa(f.Status)
	case Slow, Drift:
		s += "=" + f.For.String()
	}
	return cmp.Or(string(f.Call), "any") + ":" + s
}

// A fault is a Fault and its state.
type fault struct {
	Fault
	// Each fault has its own random numbers, so that adding another fault does not change which
	// calls it hits.
	rng  *rand.Rand
	left int // calls to be hit; -1: no limit
}

// Fault adds a fault. A call may be hit by several.
func (s *Service) Fault(f Fault) {
	switch f.Kind {
	case Slow:
		f.For = cmp.Or(f.For, defaultSlow)
	case Drift:
		f.For = cmp.Or(f.For, defaultDrift)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := -1
	if f.Times > 0 {
		left = f.Times
	}
	s.faults = append(s.faults, &fault{f, newRand(s.o.Seed, "fault", f.String(), strconv.Itoa(len(s.faults))), left})
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

// faultsOf returns the faults that hit a call, and counts them. The caller holds mu.
//
// The chance is drawn only while the fault is active, and for its own calls only: which call is hit
// depends on nothing else.
func (s *Service) faultsOf(c Call) (hit activeFaults) {
	for _, f := range s.faults {
		if f.left == 0 || f.Call != "" && f.Call != c {
			continue
		}
		if f.Chance > 0 && f.rng.Float64() >= f.Chance {
			continue
		}
		if f.left > 0 {
			f.left--
		}
		hit = append(hit, f.Fault)
	}
	return hit
}

// applyRequestFaults applies the faults that act before the answer or instead of it. It returns
// false when the caller has hung up.
func (x *exchange) applyRequestFaults() bool {
	for _, f := range x.faults {
		switch f.Kind {
		case Slow:
			if !sleep(x.r.Context(), f.For) {
				return false
			}
		case Hang:
			<-x.r.Context().Done()
			return false
		case Drift:
			x.drift += f.For
		case Answers:
			// The shortest pause, so that a test in real time stays short.
			if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
				x.header.Set("Retry-After", "1")
			}
			x.refuse(f.Status, "fault", "a simulated fault")
		case Redirect:
			x.header.Set("Location", cmp.Or(f.To, x.s.o.Prefix+"/elsewhere"))
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

// writeLarge sends more than a client should read. It is valid JSON, which may begin with spaces:
// only a limit on the size protects the client's memory.
func (x *exchange) writeLarge(w http.ResponseWriter) {
	w.WriteHeader(x.status)
	spaces := bytes.Repeat([]byte(" "), 64<<10)
	for range largeBytes / len(spaces) {
		if _, err := w.Write(spaces); err != nil {
			return
		}
	}
	_, _ = w.Write(x.body)
}
