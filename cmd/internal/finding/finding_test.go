package finding

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
)

var now = time.Date(2026, 11, 20, 19, 30, 0, 0, time.FixedZone("AEDT", 11*3600))

// A fault is a set of facts, and the finding that they make.
type fault struct {
	facts            Facts
	id, text, advice string
	level            Level
	since            time.Time
}

func faults() []fault {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	type status = DeviceStatus
	printer := func(d status, waiting int) Facts {
		d.Since = ago(time.Hour)
		return Facts{Stations: Join([]Station{{Name: "grill", Device: &d, MovedAdvice: "put it there"}},
			[]queue.StationState{{Name: "grill", Configured: true, Pending: waiting}}, now)}
	}
	certificate := func(c Certificate) Facts { return Facts{Certificates: []Finding{c.Finding(now)}} }
	refused := func(code string) Facts {
		return Facts{Orders: Orders{Refused: []Refusal{{Code: code, At: now}, {Code: code, At: ago(time.Minute)}}}}
	}
	return []fault{
		{printer(status{State: "paper_out", Conditions: []string{"paper_out", "offline"}, Advice: "put in a roll"}, 3),
			"station/grill/paper_out", "paper out; 3 tickets wait", "put in a roll", Fail, ago(time.Hour)},
		{printer(status{State: "unreachable", Err: "connection refused", Advice: "check its cable"}, 0),
			"station/grill/unreachable", "unreachable", "check its cable", Fail, ago(time.Hour)},
		{printer(status{State: "ready", Fine: true, Conditions: []string{"paper_low"}, Advice: "have a roll ready"}, 0),
			"station/grill/paper_low", "paper low", "have a roll ready", Warn, time.Time{}},
		{printer(status{State: "ready", Fine: true, Moved: "was found at b, not at a"}, 0),
			"station/grill/moved", "was found at b, not at a", "put it there", Warn, time.Time{}},
		{printer(status{State: "ready", Fine: true, Foreign: 2, ForeignAt: ago(59 * time.Minute)}, 0),
			"station/grill/shared",
			"another program prints there at the same time", "a printer of its own", Fail, time.Time{}},
		{refused("wrong_path"), "orders/refused/wrong_secret", "2 requests refused: wrong secret in the address",
			"ticketrail venues list", Fail, ago(time.Minute)},
		{refused("venue_not_allowed"), "orders/refused/unknown_venue",
			"2 requests refused: the venue is not in the configuration", "to venues", Fail, ago(time.Minute)},
		{refused("schema_mismatch"), "orders/refused/schema_mismatch", "2 requests refused: schema mismatch",
			"rejects print", Fail, ago(time.Minute)},
		{Facts{Orders: Orders{Stopped: errors.New("no space"), Full: true, Folder: "/var"}, Disk: Disk{Free: 1},
			Database: Database{Copy: fmt.Errorf("copy: %w", syscall.ENOSPC)}}, "orders/disk_full",
			"no orders are accepted: the disk is full", "delete something", Fail, time.Time{}},
		{Facts{Orders: Orders{Stopped: errors.New("i/o error")}}, "orders/not_stored",
			"no orders are accepted: the disk fails", "see the log", Fail, time.Time{}},
		{Facts{Orders: Orders{Silent: []Finding{Silent("Harbour Grill", ago(2*time.Hour))}}},
			"orders/silent/Harbour Grill", "nothing came for Harbour Grill, although it is open", "internet", Warn,
			ago(2 * time.Hour)},
		{Facts{Orders: Orders{Failed: 1}}, "tickets/failed", "1 ticket failed and did not print", "jobs reprint", Fail,
			time.Time{}},
		{Facts{Database: Database{PutAside: []Damaged{{"/db.corrupt-1", "3 tickets"}}}},
			"database/damaged/db.corrupt-1", "a damaged database was put aside", "ask the kitchen", Fail, time.Time{}},
		{Facts{Database: Database{Unreadable: errors.New("page 7")}}, "database/unreadable",
			"the history cannot be read", "see the log", Fail, time.Time{}},
		{Facts{Database: Database{Notices: []queue.Notice{{Lost: true, Text: strings.Repeat("long ", 20), Do: "ask"}}}},
			"database/lost/00010101T000000Z", strings.Repeat("long ", 11) + "long…", "ask", Fail, time.Time{}},
		{Facts{Database: Database{Copy: errors.New("read-only")}}, "database/copy_incomplete",
			"its copy is not complete", "storage.copy", Warn, time.Time{}},
		{Facts{Database: Database{Unbalanced: -1}}, "database/books", "the books do not balance by -1", "report", Fail,
			time.Time{}},
		{Facts{Configuration: Configuration{Refused: []Problem{{"secret_missing", "venues[0].secret_file: gone"}}}},
			"config/secret_missing", "configuration on disk is refused: bad secret or certificate", "chgrp ticketrail",
			Fail, time.Time{}},
		{Facts{Configuration: Configuration{Refused: []Problem{{"invalid", "x"}, {"invalid", "y"}}}}, "config/invalid",
			"configuration on disk is refused", "and no other starts", Fail, time.Time{}},
		{Facts{Configuration: Configuration{Restart: []string{"a.b"}}}, "config/needs_restart",
			"not in use before a restart: a.b", "systemctl restart", Warn, time.Time{}},
		{certificate(Certificate{Of: "webhook", Path: "/c.pem", Ends: ago(22*24*time.Hour + time.Hour)}),
			"certificate/expired/webhook", "webhook: it expired 22 days ago", "renew /c.pem", Fail,
			ago(22*24*time.Hour + time.Hour)},
		{certificate(Certificate{Of: "screens", Ends: now.Add(13 * 24 * time.Hour)}), "certificate/expires/screens",
			"screens: it expires in 13 days", "renew", Warn, time.Time{}},
		{certificate(Certificate{Of: "webhook", Err: errors.New("no PEM")}), "certificate/unreadable/webhook",
			"webhook: it cannot be read", "renew", Fail, time.Time{}},
		{certificate(Certificate{Of: "webhook", Name: "a.example", None: true, Why: "timeout"}),
			"certificate/none/webhook", "webhook: there is none yet", "port 443 of a.example", Fail, time.Time{}},
		{certificate(Certificate{Of: "webhook", Name: "a.example", Ends: now.Add(60 * 24 * time.Hour), Why: "timeout"}),
			"certificate/not_renewed/webhook", "webhook: valid until 2027-01-19", "port 443 of a.example", Warn,
			time.Time{}},
		{Facts{Disk: Disk{Folder: "/var", Free: 90 << 20}}, "disk/low", "90 MB free", "df /var", Warn, time.Time{}},
		{Facts{Disk: Disk{Err: errors.New("stale")}}, "disk/unknown", "its free space is not known", "dmesg", Warn,
			time.Time{}},
		{Facts{}, "clock/not_synchronized", "it may be wrong, it is not synchronized", "timesyncd",
			Warn, time.Time{}},
	}
}

func TestEachFaultHasAnIdentityACauseAndAdvice(t *testing.T) {
	for _, c := range faults() {
		c.facts.Now = now
		c.facts.Clock.Synchronized = c.id != "clock/not_synchronized"
		if c.facts.Disk == (Disk{}) {
			c.facts.Disk.Free = 1 << 40
		}
		var wrong []Finding
		all := Of(c.facts)
		for _, f := range all {
			if f.Level != OK {
				wrong = append(wrong, f)
			}
			assert.True(t, (f.ID == "") == (f.Level == OK), c.id, f)
		}
		assert.True(t, slices.IsSortedFunc(all, WorstFirst), "not the worst first", c.id)
		if len(wrong) != 1 {
			t.Errorf("%s: found %+v", c.id, wrong)
			continue
		}
		f := wrong[0]
		assert.True(t, f.ID == c.id && f.Text == c.text && f.Level == c.level && f.Since.Equal(c.since) &&
			strings.Contains(f.Do, c.advice) && utf8.RuneCountInString(f.Text) <= MaxCause, f, c)
	}
}

func TestAFullDiskSaysHowMuchRoomIsMissing(t *testing.T) {
	full := fmt.Errorf("open: %w: %w", &queue.StorageFull{Free: 3e6, Needed: 33e6}, syscall.ENOSPC)
	running := Of(Facts{Orders: Orders{Stopped: full, Full: true, Folder: "/var"}})[0]
	start, _ := Storage("/var/t.db", "me", full)
	for _, f := range []Finding{running, start} {
		assert.True(t, f.ID == DiskFull && f.Detail == "at /var: 3 MB are free, 34 MB are needed", f)
	}
}

func TestTwoThatAreWrongAreTwoFindingsAndEachSaysItsOwn(t *testing.T) {
	f := Facts{Now: now, Disk: Disk{Free: 1 << 40}, Clock: Clock{true},
		Database: Database{PutAside: []Damaged{{"/db.corrupt-1", "a"}, {"/db.corrupt-2", "b"}},
			Notices: []queue.Notice{{Lost: true}, {Lost: true, At: now}}},
		Configuration: Configuration{Refused: []Problem{
			{"secret_missing", "first"}, {"invalid", "other"}, {"secret_missing", "second"},
			{"unreadable", "open t.yaml: permission denied"}}, File: "t.yaml"}}
	said := map[string]string{}
	for _, f := range Of(f) {
		_, twice := said[f.ID]
		assert.True(t, !twice || f.Level == OK, "two are called", f.ID)
		said[f.ID] = f.Detail
	}
	assert.True(t, said["config/secret_missing"] == "t.yaml: first; second" &&
		said["config/invalid"] == "t.yaml: other" && said["config/unreadable"] == "open t.yaml: permission denied",
		said)
}

func TestABoxWithoutAFaultNeedsNobody(t *testing.T) {
	f := Facts{Now: now, Disk: Disk{Folder: "/var", Free: 1 << 40}, Clock: Clock{true}, Version: "v1", Started: now,
		Configuration: Configuration{File: "t.yaml"},
		Stations: Join([]Station{{Name: "grill", Known: true, Up: true}},
			[]queue.StationState{{Name: "grill", Configured: true, Pending: 1, Oldest: time.Minute}}, now)}
	var got []string
	for _, f := range Of(f) {
		got = append(got, string(f.Level)+" "+f.Subject+": "+f.Text)
	}
	d := cmp.Diff([]string{"ok orders: 0 orders in the last hour; none has come yet",
		"ok configuration: the file on disk is valid", "ok stations: all print: 1",
		"ok tickets: 1 waiting, 0 held, the oldest waits for 1m", "ok disk: 1048576 MB free",
		"ok clock: synchronized, 19:30 AEDT", "ok version: v1, started 0s ago"}, got)
	assert.True(t, d == "", d)
}

func TestTheStateOfAStationIsItsMostUrgentConditionAndEachReasonIsAFinding(t *testing.T) {
	hold := &queue.StationHold{Reason: "lunch (by anna)", Since: time.Unix(9, 0)}
	up, down := Station{Known: true, Up: true}, Station{Known: true, Error: "connection refused"}
	out := up
	out.Device = &DeviceStatus{State: "paper_out", Since: time.Unix(5, 0), Advice: "put in a new roll"}
	refusing := Station{Kind: KindDisplay, Known: true, Device: &DeviceStatus{State: "refusing", Err: "401"}}
	backed := down
	backed.ActiveBackup = "bar"
	for _, x := range []struct {
		st   queue.StationState
		l    Station
		want StateWord
		ids  string // of its findings, without the station
		do   string // the advice of the first
	}{
		{queue.StationState{Configured: true}, Station{}, Untried, "", ""},
		{queue.StationState{Configured: true}, up, Up, "", ""},
		{queue.StationState{Configured: true, Held: 2}, up, Up, "tickets_held", "jobs reprint"},
		{queue.StationState{Configured: true}, down, Down, "down", "check power, cable and address"},
		{queue.StationState{Configured: true}, backed, Down, "down", "; bar prints its tickets meanwhile"},
		{queue.StationState{Configured: true}, out, Down, "paper_out", "put in a new roll"},
		{queue.StationState{Configured: true, Hold: hold}, out, OnHold, "on_hold paper_out", "resume 'the grill'"},
		{queue.StationState{Configured: true, Hold: hold, Held: 1}, down, OnHold, "on_hold down tickets_held", ""},
		{queue.StationState{Hold: hold, Held: 1}, down, Orphaned, "orphan", "jobs move --from 'the grill'"},
		{queue.StationState{Configured: true}, refusing, Down, "refusing", "ticketrail printers resume 'the grill'"},
	} {
		x.st.Name, x.l.Name = "the grill", "the grill"
		p := Join([]Station{x.l, {Name: "other", ActiveBackup: "the grill"}}, []queue.StationState{x.st}, now)[0]
		var ids []string
		for _, f := range p.Findings(now) {
			ids = append(ids, strings.TrimPrefix(f.ID, "station/the grill/"))
		}
		assert.True(t, p.State == x.want && strings.Join(ids, " ") == x.ids && strings.Contains(p.Advice, x.do) &&
			p.Fine() == (x.ids == "") && len(p.StandsInFor) == 1, x.l, p.State, ids, p.Advice, x)
	}
}

func TestAPrinterThatWorksWithAdviceIsNotCalledReady(t *testing.T) {
	advised := DeviceStatus{State: "ready", Fine: true, Advice: "set confirm: none"}
	late := Station{Known: true, Up: true, Device: &advised}
	got := Join([]Station{late}, []queue.StationState{{Configured: true}}, now)[0].Findings(now)
	assert.True(t, len(got) == 1 && got[0].Text == "works, but not as it should" && got[0].Do == "set confirm: none",
		got)
}

func TestAPrinterThatMovedAndHasAnotherFlawHasAFindingAndAdviceForEach(t *testing.T) {
	for id, other := range map[string]DeviceStatus{
		"paper_low": {Conditions: []string{"paper_low"}, Advice: "have a roll ready"},
		"advice":    {Late: true, Conditions: []string{"feed_button"}, Advice: "set confirm: none"},
	} {
		other.State, other.Fine, other.Moved = "ready", true, "was found at b, not at a"
		var got []string
		for _, f := range (Station{Name: "bar", Device: &other, MovedAdvice: "put it there"}).Findings(now) {
			got = append(got, f.ID+": "+f.Do)
		}
		d := cmp.Diff([]string{"station/bar/" + id + ": " + other.Advice, "station/bar/moved: put it there"}, got)
		assert.True(t, d == "", d)
	}
}

func TestAnotherProgramCountsForAnHourAfterItsLastPrint(t *testing.T) {
	shared := Station{Device: &DeviceStatus{State: "ready", Fine: true, Foreign: 1, ForeignAt: now}}
	assert.Equal(t, len(shared.Findings(now.Add(time.Hour-time.Second))), 1)
	assert.Equal(t, len(shared.Findings(now.Add(time.Hour))), 0)
}

func TestACommandThatReadsAStationFindsTheSameAsTheDaemon(t *testing.T) {
	for _, l := range []Station{
		{Known: true, Error: "connection refused"},
		{Known: true, Error: "connection refused", Hold: &queue.StationHold{Reason: "lunch"}},
		{Device: &DeviceStatus{State: "ready", Fine: true, Foreign: 1, ForeignAt: now}},
		{Device: &DeviceStatus{State: "ready", Fine: true, Moved: "was found at b"}, MovedAdvice: "put it there"},
	} {
		l.Name = "grill"
		st := queue.StationState{Name: "grill", Configured: true, Hold: l.Hold}
		daemon := Join([]Station{l}, []queue.StationState{st}, now)[0]
		var command Station
		b, err := json.Marshal(daemon)
		assert.NoError(t, err)
		assert.NoError(t, json.Unmarshal(b, &command))
		assert.True(t, len(daemon.Findings(now)) != 0, daemon)
		d := cmp.Diff(daemon.Findings(now), command.Findings(now))
		assert.True(t, d == "", d)
	}
}
