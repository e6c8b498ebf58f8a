// Package finding works out the faults of a box: an order that was refused, a printer without paper, a disk that is
// nearly full. It is pure: it gets facts and returns findings. Everything that tells people of them renders this list:
// `ticketrail status` and `doctor`, the page for managers, messages, the journal and the metric ticketrail_finding.
// /readyz shows only whether orders are stored. start.go has the faults that end a start, which are seen without a
// daemon.
//
// The fault of a printer comes from printer/status.go by AddState and List in cmd/internal/station, and by
// cmd/internal/app/findings.go, which joins it with the queue; station.go judges it. To people it goes by look and news
// in cmd/internal/notify.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Level says how urgent a [Finding] is.
type Level string

const (
	Fail Level = "fail" // a person is needed now
	Warn Level = "warn" // works, but not for long, or not as it should
	OK   Level = "ok"
)

// A Finding is the state of one subject, with advice if it is not fine. It is data and not a line, because a
// terminal, a page and a script show it in their own ways.
type Finding struct {
	// ID names the fault, such as station/grill/paper_out. It stays the same while the numbers in Text change, and
	// two faults have two. Empty if the level is [OK].
	ID      string    `json:"id,omitempty"`
	Level   Level     `json:"level"`
	Subject string    `json:"subject"`           // one word, such as disk, or the name of a station
	Since   time.Time `json:"since,omitzero"`    // by the facts, else by the looks of package notify; zero: not known
	Text    string    `json:"text"`              // the cause, at most [MaxCause] characters
	Detail  string    `json:"detail,omitempty"`  // an error in its own words, the place of the file, the result
	Do      string    `json:"do,omitempty"`      // advice for a person; empty if nothing needs to be done
	Station bool      `json:"station,omitempty"` // the subject is the name of a station
	Count   int       `json:"count,omitempty"`   // tickets that wait for a person; more of them are told again
	// Examples are lines from orders. They are shown to the operator, and never sent anywhere.
	Examples []string `json:"examples,omitempty"`
}

// New is a finding about the subject with which its identity begins. A text that is too long for a cause is cut, and
// the detail has all of it.
func New(id string, level Level, text, detail, do string) Finding {
	subject, _, _ := strings.Cut(id, "/")
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > MaxCause {
		text, detail = string(letters[:MaxCause-1])+"…", cmp.Or(detail, text)
	}
	return Finding{ID: id, Level: level, Subject: subject, Text: text, Detail: detail, Do: do}
}

// Fine is a subject without a fault.
func Fine(subject, text string) Finding { return Finding{Level: OK, Subject: subject, Text: text} }

// MaxCause is the length of a cause, in characters: it fits a line of a terminal and of a phone.
const MaxCause = 60

// WorstFirst is the order in which findings are shown.
func WorstFirst(a, b Finding) int {
	order := []Level{Fail, Warn, OK}
	return cmp.Compare(slices.Index(order, a.Level), slices.Index(order, b.Level))
}

// String is the finding as one sentence, without its level and subject.
func (f Finding) String() string {
	text := f.Text
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}

	if f.Do != "" {
		text += ": " + f.Do
	}
	return text
}

// Age is d for people, rounded down, in its two largest units. Seconds matter only in the first
// minute.
func Age(d time.Duration) string {
	// A clock that was set back would otherwise show a negative age.
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}

	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}
