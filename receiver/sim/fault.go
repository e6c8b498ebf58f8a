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

// Kind is a way to go wrong.
type Kind string

// The kinds, by the names that [ParseFault] knows.
const (
	Answers    Kind = "answers"      // another status, as [Fault.Status] says
	Slow       Kind = "slow"         // the answer comes after [Fault.For]
	Hang       Kind = "hang"         // no answer comes, until the caller gives up
	Truncated  Kind = "truncated"    // half the JSON, as if it were all
	Broken     Kind = "broken"       // the connection ends in the middle of the body
	NonJSON    Kind = "nonjson"      // a page for people, with status 200
	Drift      Kind = "drift"        // the service's clock is ahead by [Fault.For] more
	Redirect   Kind = "redirect"     // 302 to [Fault.To]
	NoSuccess  Kind = "unsuccessful" // 200, and an envelope whose status is not SUCCESS
	SameCursor Kind = "samecursor"   // a page names itself as the next
	Churn      Kind = "churn"        // after the answer somebody joins, leaves or is renamed
	Large      Kind = "large"        // 64 MiB of blanks before the answer
)

// Kinds lists them.
func Kinds() []Kind {
	return []Kind{Answers, Slow, Hang, Truncated, Broken, NonJSON, Drift, Redirect, NoSuccess, SameCursor, Churn, Large}
}

// A Fault makes calls go wrong.
type Fault struct {
	Call   Call          // empty: any
	Kind   Kind          // which way
	Status int           // of [Answers], 400 to 599
	For    time.Duration // of [Slow] (default 7 s) and [Drift] (default 5 minutes)
	To     string        // of [Redirect]; default a place of this service where nothing is
	Chance float64       // of each call, from the seed; 0: every call
	Times  int           // after which it is over; 0: never
}

const (
	defaultSlow  = 7 * time.Second // longer than anybody should wait for a webhook
	defaultDrift = 5 * time.Minute
	largeBytes   = 64 << 20
)

// ParseFault reads CALL:KIND[=VALUE][:CHANCE[:TIMES]], as employees:500:0.1, token:slow=3s,
// any:drift=90s, me:401:1:2. The call is one of [Calls] or any; instead of a kind there may be
// a status.
func ParseFault(text string) (Fault, error) {
	wrong := func(format string, args ...any) (Fault, error) {
		return Fault{}, fmt.Errorf("fault %q: %s; write CALL:KIND[=VALUE][:CHANCE[:TIMES]], as employees:500:0.1 or token:slow=3s",
			text, fmt.Sprintf(format, args...))
	}
	call, rest, _ := strings.Cut(text, ":")
	f := Fault{Call: Call(call)}
	switch {
	case call == "any":
		f.Call = ""
	case !slices.Contains(Calls(), f.Call):
		return wrong("%q is no call; there are any, %s", call, join(Calls()))
	}
	// A value may hold colons (a URL), and a port is no chance; what follows it does not.
	words := strings.Split(rest, ":")
	chance := func(s string) (p float64, ok bool) {
		p, err := strconv.ParseFloat(s, 64)
		return p, err == nil && (p <= 1 || !strings.HasPrefix(rest, string(Redirect)+"="))
	}
	if last := len(words) - 1; last >= 2 {
		n, err := strconv.Atoi(words[last])
		if _, ok := chance(words[last-1]); ok && err == nil {
			if n < 1 {
				return wrong("%d is not how often; use 1 or more", n)
			}
			f.Times, words = n, words[:last]
		}
	}
	if last := len(words) - 1; last >= 1 {
		if p, ok := chance(words[last]); ok {
			if !(p > 0 && p <= 1) {
				return wrong("%s is not a chance; use more than 0, up to 1", words[last])
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

func (f *Fault) set(kind, value string, given bool) (err error) {
	if n, err := strconv.Atoi(kind); err == nil && !given {
		if n < 400 || n > 599 {
			return fmt.Errorf("%d is not the status of an error; use 400 to 599", n)
		}
		f.Kind, f.Status = Answers, n
		return nil
	}
	f.Kind = Kind(kind)
	switch {
	case f.Kind == Answers:
		return errors.New("write the status itself, as employees:500")
	case !slices.Contains(Kinds(), f.Kind):
		return fmt.Errorf("%q is no kind; use a status, %s", kind, join(Kinds()[1:]))
	case !given:
		return nil
	case f.Kind == Slow || f.Kind == Drift:
		if f.For, err = time.ParseDuration(value); err != nil || f.Kind == Slow && f.For <= 0 || f.For == 0 {
			return fmt.Errorf("%q is no time; use one as 90s", value)
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

// fault is a Fault with its luck.
type fault struct {
	Fault
	rng  *rand.Rand
	left int // -1: for ever
}

// Fault makes calls go wrong from now on. Faults add up.
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

// ClearFaults ends all faults.
func (s *Service) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// activeFaults are the faults of one exchange.
type activeFaults []Fault

func (s activeFaults) has(k Kind) bool {
	return slices.ContainsFunc(s, func(f Fault) bool { return f.Kind == k })
}

// strike finds out which faults a call meets. The caller holds mu.
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

// before is what faults do instead of an answer, or to it before it is made. It is false when
// the caller did not wait.
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
			if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
				x.header.Set("Retry-After", "1")
			}
			x.refuse(f.Status, "fault", "the simulator was told to answer this")
		case Redirect:
			x.header.Set("Location", cmp.Or(f.To, x.s.o.Prefix+"/elsewhere"))
			x.status = http.StatusFound
		}
	}
	return true
}

// after is what faults do to an answer.
func (x *exchange) applyAnswerFaults() {
	for _, f := range x.faults {
		switch f.Kind {
		case Truncated:
			x.body = x.body[:len(x.body)/2]
		case NonJSON:
			x.status, x.body = http.StatusOK, []byte("<!doctype html>\n<html><body><h1>Scheduled maintenance</h1><p>We will be right back.</p></body></html>\n")
			x.header.Set("Content-Type", "text/html; charset=utf-8")
		case NoSuccess:
			if x.status == http.StatusOK {
				x.body = bytes.Replace(x.body, []byte(`"`+contract.StatusSuccess+`"`), []byte(`"`+contract.StatusError+`"`), 1)
			}
		case Churn:
			if x.venue != "" && x.status == http.StatusOK {
				x.s.changeStaff(x.venue)
			}
		}
	}
}

// writeLarge writes more than anybody should read. JSON may begin with blanks.
func (x *exchange) writeLarge(w http.ResponseWriter) {
	w.WriteHeader(x.status)
	blanks := bytes.Repeat([]byte(" "), 64<<10)
	for range largeBytes / len(blanks) {
		if _, err := w.Write(blanks); err != nil {
			return
		}
	}
	_, _ = w.Write(x.body)
}
