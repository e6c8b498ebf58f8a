package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Hours is one line of a venue's opening hours, written as "mon-fri 11:30-14:30". An end that is not after
// its begin is on the next day: "fri 18:00-02:00" ends on Saturday.
type Hours struct {
	Days     [7]bool // by [time.Weekday], of the begin
	From, To int     // minutes since midnight; To is up to 24*60
	Text     string  // as it was written
}

// include reports whether a time of the venue's clock is within h.
func (h Hours) include(day time.Weekday, minute int) bool {
	if h.To > h.From {
		return h.Days[day] && minute >= h.From && minute < h.To
	}
	yesterday := (day + 6) % 7
	return h.Days[day] && minute >= h.From || h.Days[yesterday] && minute < h.To
}

// OpenAt reports whether the venue is open at a time that is given in the venue's zone. A venue without
// hours is never open: nothing is known of it.
func (v Venue) OpenAt(local time.Time) bool {
	for _, h := range v.Hours {
		if h.include(local.Weekday(), local.Hour()*60+local.Minute()) {
			return true
		}
	}
	return false
}

func (h Hours) String() string { return h.Text }

const hoursExample = `for example "mon-fri 11:30-14:30", "fri,sat 18:00-02:00" or "daily 10:00-22:00"`

var hoursForm = regexp.MustCompile(`^(\S+) +([0-9:]+) *- *([0-9:]+)$`)

// UnmarshalText parses one line of opening hours.
func (h *Hours) UnmarshalText(b []byte) error {
	match := hoursForm.FindStringSubmatch(strings.TrimSpace(string(b)))
	if match == nil {
		return fmt.Errorf("%s are not opening hours: write days and times, %s", quote(string(b)), hoursExample)
	}

	got := Hours{Text: strings.TrimSpace(string(b))}
	for part := range strings.SplitSeq(strings.ToLower(match[1]), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if part == "daily" {
			first, last, isRange = "mon", "sun", true
		}
		if !isRange {
			last = first
		}

		from, to := weekday(first), weekday(last)
		if from < 0 || to < 0 {
			return fmt.Errorf("%s is not a day: write mon, tue, wed, thu, fri, sat, sun or daily, %s", quote(part),
				hoursExample)
		}

		for day := from; ; day = (day + 1) % 7 { // sat-mon goes through Sunday
			got.Days[day] = true
			if day == to {
				break
			}
		}
	}

	var ok, ok2 bool
	got.From, ok = minutes(match[2])
	got.To, ok2 = minutes(match[3])
	if !ok || !ok2 || got.From == 24*60 {
		return fmt.Errorf("%s is not a time from 00:00 to 24:00, %s", quote(match[2]+"-"+match[3]), hoursExample)
	}
	if got.From == got.To {
		return fmt.Errorf("%s begins and ends at the same time; write 00:00-24:00 for the whole day", quote(string(b)))
	}

	*h = got
	return nil
}

// weekday is the day that begins with the three letters, or has the whole name; -1: none has.
func weekday(name string) time.Weekday {
	for d := range time.Weekday(7) {
		full := strings.ToLower(d.String())
		if name == full || name == full[:3] {
			return d
		}
	}
	return -1
}

// minutes parses a time such as 9:30; 24:00 is the end of the day.
func minutes(text string) (int, bool) {
	if text == "24:00" {
		return 24 * 60, true
	}
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err == nil
}
