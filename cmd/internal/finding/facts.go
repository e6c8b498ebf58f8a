package finding

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// Facts are the facts that the daemon knows of itself and its box at one moment.
type Facts struct {
	Now           time.Time // in the kitchen's zone
	Stations      []Station // as [Join] made them
	Orders        Orders
	Database      Database
	Configuration Configuration
	Certificates  []Finding
	Disk          Disk
	Clock         Clock
	Version       string // of the running program
	Started       time.Time
	Others        []Finding // of parts that speak for themselves: the relay, outcomes, fields, screens
}

// Of are the findings, the worst first; among equals orders come first.
func Of(f Facts) []Finding {
	disk := []Finding{f.Disk.Finding()}
	// A full disk is one finding: not also the warning of low space, nor the copy that fails for it.
	if f.Orders.Full {
		disk = nil
		if errors.Is(f.Database.Copy, queue.ErrStorageFull) || errors.Is(f.Database.Copy, syscall.ENOSPC) {
			f.Database.Copy = nil
		}
	}

	out := slices.Concat(f.Orders.findings(f.Now), f.Database.findings(), f.Configuration.Findings(),
		stations(f.Stations, f.Now), f.Others, disk, f.Certificates)
	out = append(out, f.Clock.Finding(f.Now),
		Fine("version", fmt.Sprintf("%s, started %s ago", f.Version, Age(f.Now.Sub(f.Started)))))
	slices.SortStableFunc(out, WorstFirst)
	return out
}

// Orders are the requests that came, those that were refused, and the tickets that did not print. A refused order is
// lost if no person looks, and so is a failed ticket.
type Orders struct {
	LastHour int
	Last     time.Time // of the last request of any venue; zero: none is known
	Refused  []Refusal // of the last hour, that were not printed late
	Failed   int       // tickets
	Silent   []Finding // see [Silent]
	Stopped  error     // why no order is accepted; nil: they are
	Full     bool      // because the disk is full
	Folder   string    // of the database
}

// A Refusal is a request that was refused.
type Refusal struct {
	Code, Message string
	At            time.Time
}

// Silent is about a venue that is open, and for which nothing came since last; zero: ever.
func Silent(venue string, last time.Time) Finding {
	detail := ""
	if last.IsZero() {
		detail = "no request of it has ever come"
	}
	silent := New("orders/silent/"+venue, Warn, "nothing came for "+venue+", although it is open", detail,
		"if there are orders, look at the internet connection and at ticketrail doctor")
	silent.Since = last
	return silent
}

// refusals have words for the codes of refused requests. A code that is not here is named as it is.
var refusals = map[string]struct{ id, words, do string }{
	"wrong_path": {"wrong_secret", "wrong secret in the address",
		"enter the address that ticketrail venues list shows at the service"},
	"address_not_allowed": {"address", "sent from an address that is not allowed",
		"if it is the service's, add the address in ticketrail rejects to receiver.allow_from"},
	"venue_missing": {"header_missing", "without the header that names the venue",
		"have the proxy or tunnel pass on all headers"},
	"device_missing": {"header_missing", "without the header that names the device",
		"have the proxy or tunnel pass on all headers"},
	"venue_not_allowed": {"unknown_venue", "the venue is not in the configuration",
		"add the venue's id in ticketrail rejects to venues, then systemctl reload ticketrail"},
	"device_not_allowed": {"unknown_device", "the device is not in the configuration",
		"add the device in ticketrail rejects to the venue's devices, then systemctl reload ticketrail"},
}

func (o Orders) findings(now time.Time) (out []Finding) {
	if fault, stopped := o.NotStored(); stopped {
		out = append(out, fault)
	}
	out = slices.Concat(out, refused(o.Refused), o.Silent)
	if o.Failed > 0 {
		failed := New("tickets/failed", Fail, ticket.Plural(o.Failed, "ticket")+" failed and did not print", "",
			"ticketrail jobs list --state failed, then jobs reprint or jobs cancel")
		failed.Count = o.Failed
		out = append(out, failed)
	}

	last := "; none has come yet"
	if !o.Last.IsZero() {
		last = fmt.Sprintf("; the last request %s ago, at %s", Age(now.Sub(o.Last)),
			o.Last.In(now.Location()).Format("15:04 MST"))
	}
	return append(out, Fine("orders", ticket.Plural(o.LastHour, "order")+" in the last hour"+last))
}

// NotStored says why no order is accepted, and whether that is so.
func (o Orders) NotStored() (f Finding, stopped bool) {
	if o.Full {
		return full(o.Folder, o.Stopped), true
	}
	return New("orders/not_stored", Fail, "no orders are accepted: the disk fails",
		fmt.Sprintf("%v, in %s", o.Stopped, o.Folder),
		"see the log; orders are accepted again when the disk can be written"), o.Stopped != nil
}

// refused is a finding for each reason, with the first time of it and the newest example.
func refused(all []Refusal) (out []Finding) {
	count := map[string]int{}
	for _, r := range slices.SortedFunc(slices.Values(all), func(a, b Refusal) int { return a.At.Compare(b.At) }) {
		why, known := refusals[r.Code]
		if !known {
			why.id, why.words = r.Code, strings.ReplaceAll(r.Code, "_", " ")
			why.do = "ticketrail rejects shows why; rejects print ID --lenient prints one all the same"
		}

		id := "orders/refused/" + why.id
		count[id]++
		fault := New(id, Fail, ticket.Plural(count[id], "request")+" refused: "+why.words, "", why.do)
		fault.Since, fault.Examples = r.At, []string{r.Message}
		if at := slices.IndexFunc(out, func(f Finding) bool { return f.ID == id }); at >= 0 {
			fault.Since = out[at].Since
			out[at] = fault
		} else {
			out = append(out, fault)
		}
	}

	return out
}

// A Database is the file with the orders, and its copy.
type Database struct {
	PutAside   []Damaged
	Notices    []queue.Notice // of the queue, since the start
	Copy       error          // why the copy is not complete; nil: it is
	CopyFolder string
	Unbalanced int64 // by how much the books do not balance
	Unreadable error // the history cannot be read
}

// A Damaged database was put aside.
type Damaged struct{ File, Loss string }

func (d Database) findings() (out []Finding) {
	for _, one := range d.PutAside {
		out = append(out, New("database/damaged/"+filepath.Base(one.File), Fail, "a damaged database was put aside",
			one.File+": "+one.Loss, "ask the kitchen what is missing; to end this notice, move the file away"))
	}

	if d.Unreadable != nil {
		out = append(out, New("database/unreadable", Fail, "the history cannot be read", d.Unreadable.Error(),
			"see the log"))
	}
	for _, n := range d.Notices {
		level, id := Warn, "database/repaired/"
		if n.Lost {
			level, id = Fail, "database/lost/"
		}
		// The identity has the time of the notice: notices are gone after a restart, so the finding of an old one ends,
		// and a new one is a finding of its own.
		out = append(out, New(id+n.At.Format("20060102T150405Z"), level, n.Text, "", n.Do))
	}

	if d.Copy != nil {
		out = append(out, New("database/copy_incomplete", Warn, "its copy is not complete",
			fmt.Sprintf("%v, in %s", d.Copy, d.CopyFolder),
			"see that the disk of storage.copy is connected and has room; orders and tickets do not wait for the copy"))
	}

	// A bug: a ticket was lost or counted twice. The kitchen goes on, because refusing orders would
	// lose more.
	if d.Unbalanced != 0 {
		out = append(out, New("database/books", Fail, fmt.Sprintf("the books do not balance by %d", d.Unbalanced), "",
			"please report this"))
	}
	return out
}

// A Configuration is how the file on the disk compares with the one in use.
type Configuration struct {
	File    string    // empty: the daemon runs without one
	Refused []Problem // problems of the next start
	Restart []string  // keys that are not in use before a restart
	Unit    string    // that has it; empty: ticketrail
}

// A Problem is a reason why the next start would fail.
type Problem struct {
	Kind string // secret_missing, unreadable, invalid
	Text string
}

// refusedFiles are the findings about a configuration that no daemon starts with, by the kind of its problems.
var refusedFiles = []struct{ kind, text, do string }{
	{"invalid", "configuration on disk is refused", "correct it"},
	{"secret_missing", "configuration on disk is refused: bad secret or certificate", makeReadable},
	{"unreadable", "configuration on disk is refused: it cannot be read", makeReadable},
}

const makeReadable = "the service must be able to read it (chgrp ticketrail FILE; chmod g+r FILE; g+x for its folders)"

// Findings say whether the daemon would start again, and whether it uses the file.
func (c Configuration) Findings() (out []Finding) {
	for _, refused := range refusedFiles {
		var problems []string
		for _, p := range c.Refused {
			if p.Kind == refused.kind {
				problems = append(problems, p.Text)
			}
		}
		if problems == nil {
			continue
		}

		detail := strings.Join(problems, "; ")
		if !strings.Contains(detail, c.File) { // the name of the file once, not in each problem
			detail = c.File + ": " + detail
		}
		// Of a daemon that does not run, the command starts it.
		out = append(out, New("config/"+refused.kind, Fail, refused.text, detail,
			refused.do+"; then systemctl reload-or-restart "+cmp.Or(c.Unit, "ticketrail")+
				"; a running daemon goes on, and no other starts"))
	}

	switch {
	case len(c.Restart) > 0:
		out = append(out, New("config/needs_restart", Warn,
			"not in use before a restart: "+strings.Join(c.Restart, ", "), "", "systemctl restart ticketrail"))
	case len(out) == 0 && c.File != "":
		out = append(out, Fine("", "the file on disk is valid"))
	}

	for i := range out {
		out[i].Subject = "configuration"
	}
	return out
}

// A Disk is the one with the database. The queue itself refuses orders when it is full; this is the warning before.
type Disk struct {
	Folder string
	Free   uint64 // bytes
	Err    error  // why that is not known
}

// diskWarning is in bytes. At 8 MiB no order is accepted any more.
const diskWarning = 256 << 20

// Finding says whether there is room.
func (d Disk) Finding() Finding {
	text := fmt.Sprintf("%d MB free", d.Free>>20)
	switch {
	case d.Err != nil:
		return New("disk/unknown", Warn, "its free space is not known", fmt.Sprintf("%s: %v", d.Folder, d.Err),
			"see dmesg: the disk may fail")
	case d.Free < diskWarning:
		return New(DiskLow, Warn, text, "at "+d.Folder,
			"delete something on the disk that df "+d.Folder+" shows; orders are refused when it is full")
	}

	return Finding{Level: OK, Subject: "disk", Text: text, Detail: "at " + d.Folder}
}

// A Clock is the clock of the box; an order never waits for it.
type Clock struct{ Synchronized bool }

// Finding says whether the clock is right.
func (c Clock) Finding(now time.Time) Finding {
	if c.Synchronized {
		return Fine("clock", "synchronized, "+now.Format("15:04 MST"))
	}
	return New("clock/not_synchronized", Warn, "it may be wrong, it is not synchronized",
		now.Format("2006-01-02 15:04 MST"), "systemctl status systemd-timesyncd (or chrony)")
}

// stations are the findings of each station. The fine ones are one line together, and so are the tickets of all.
func stations(all []Station, now time.Time) (out []Finding) {
	fine, waiting, held := 0, 0, 0
	oldest := time.Duration(0)
	for _, p := range all {
		held += p.Held
		if open := p.Pending + p.Printing; open > 0 {
			waiting += open
			oldest = max(oldest, time.Duration(p.OldestSeconds*float64(time.Second)))
		}

		found := p.Findings(now)
		if len(found) == 0 {
			fine++
		}
		out = append(out, found...)
	}

	switch {
	case len(all) == fine:
		out = append(out, Fine("stations", "all print: "+strconv.Itoa(fine)))
	case fine > 0:
		out = append(out, Fine("stations", "the others print: "+strconv.Itoa(fine)))
	}

	text := fmt.Sprintf("%d waiting, %d held", waiting, held)
	if waiting > 0 {
		text += ", the oldest waits for " + Age(oldest)
	}
	return append(out, Fine("tickets", text))
}
