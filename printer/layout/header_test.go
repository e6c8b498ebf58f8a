package layout

import (
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
)

func TestFieldsShareALineIfTheyHaveOneSizeOrWouldBeAlone(t *testing.T) {
	d := rich()
	d.Ticket.Course = "Everything for a birthday party"
	row := func(left, right string) string { return left + spaces(42-len(left)-len(right)) + right }
	for _, c := range []struct {
		fields []string
		want   []string
	}{
		{[]string{"guests", "server", "date"}, []string{"Guests 4   Server Jonathan A.    Fri 6 Feb"}},
		{[]string{"type", "guests"}, []string{row("Dine In", "Guests 4")}},
		{[]string{"type", "time", "guests"}, []string{"Dine In           21:49           Guests 4"}},
		{[]string{"type", "time", "guests", "date"}, []string{row("Dine In", "21:49"), row("Guests 4", "Fri 6 Feb")}},
		{[]string{"type", "guests", "server", "date"}, []string{row("Dine In", "Guests 4"),
			row("Server Jonathan A.", "Fri 6 Feb")}},
		{[]string{"guests", "date", "server", "course"}, []string{"Guests 4   Fri 6 Feb    Server Jonathan A.",
			"Course Everything for a birthday party"}},
		{[]string{"server", "date", "guests", "destination"}, []string{row("Server Jonathan A.", "Fri 6 Feb"),
			row("Guests 4", "For GRILL-1")}},
		{[]string{"guests", "venue", "type", "date"}, []string{"Guests 4", spaces(14) + "Harbour Grill",
			row("Dine In", "Fri 6 Feb")}},
	} {
		got := strings.Split(content(ComposeWith(d, Options{Columns: 42, Header: c.fields})), "\n")[2:]
		for i, want := range c.want {
			assert.True(t, strings.HasPrefix(got[i], want), c.fields, i, got[i], want)
		}
		n := len(c.want)
		assert.True(t, strings.HasPrefix(got[n], "="), c.fields, n, got[n])
	}
}

func TestFieldsShareALineOnlyWithTwoColumnsBetweenThem(t *testing.T) {
	for number, want := range map[string]string{"12345": "#12345  Table 12\n", "123456": "#123456\nTable 12\n"} {
		d := ticket.Delivery{Ticket: ticket.Ticket{Number: number, Table: "12"}}
		got := content(ComposeWith(d, Options{Columns: 16, NumberSize: Size{1, 2}, TableSize: Size{1, 2}}))
		assert.True(t, strings.HasPrefix(got, want), got, want)
	}
}

func TestTheOtherStationsOfTheOrderAreNamedAtTheFoot(t *testing.T) {
	d := everyday()
	d.Ticket.AlsoAt = []string{"grill", "pastry\x1b"}
	lines := ComposeWith(d, Options{Columns: 42, Footer: []string{"{course}"}})
	assert.Equal(t, firstWith(lines, "ALSO"), "ALSO AT: grill, pastry\ufffd\n")
	assert.Equal(t, sizeOf(t, lines, "ALSO").Height, 2)
	for _, lines := range [][]Line{ComposeWith(d, Options{Columns: 42, NoAlsoAt: true}), Compose(everyday(), 42, "")} {
		assert.Equal(t, firstWith(lines, "ALSO"), "")
	}
}

func TestTheTopMarginIsBlankLinesAboveEverything(t *testing.T) {
	d := everyday()
	d.Doubt = true
	for margin, want := range map[int]int{0: 0, 6: 6} {
		got := content(ComposeWith(d, Options{Columns: 42, TopMargin: margin}))
		assert.Equal(t, len(got)-len(strings.TrimLeft(got, "\n")), want, margin)
	}
}

func TestARepetitionSaysInItsBarWhatToDoAndThenTheNumber(t *testing.T) {
	d := everyday()
	d.Doubt, d.Reprint = true, true
	for piece, beneath := range map[bool]string{false: checkRail, true: replacesPiece} {
		lines := ComposeWith(d, Options{Columns: 32, AfterPiece: piece})
		for i, want := range []string{possibleDuplicate, beneath, reprint, "#7"} {
			assert.True(t, strings.HasPrefix(strings.TrimSpace(lines[i].Text()), want), piece, lines[i], want)
			assert.Equal(t, lines[i].Spans[0].Invert, i < 3, piece, want)
		}
	}

	d.Doubt, d.Reprint, d.Attempt = false, false, 2
	s := content(Compose(d, 42, ""))
	assert.True(t, !strings.Contains(s, possibleDuplicate), s)
}

func TestALineOfTheConfigurationPrintsTheFieldsThatItNames(t *testing.T) {
	d := rich()
	d.Ticket.Server = "Ana\x1b@ {table}"
	for line, want := range map[string]string{
		"at {printer}, job {job}": "at grill, job 1017", "{number}/{table}: {request}": "#18/Table B10: 4c5b6a",
		"thank you": "thank you", "{course}{server}": "Server Ana\ufffd@ {table}",
		"Course {course}": "", "{nothing}": "",
	} {
		o := Options{Columns: 42, Printer: "grill", Header: []string{}, Footer: []string{line}}
		text := content(ComposeWith(d, o))
		foot := strings.Split(text[strings.LastIndex(text, "=\n")+2:], "\n")
		if want == "" {
			assert.Equal(t, len(foot), 2, line, foot)
		} else {
			assert.Equal(t, strings.TrimSpace(foot[0]), want, line)
		}
	}
	header := Options{Columns: 42, Header: []string{"number", "at {table}", "guests"}}
	assert.Contains(t, content(ComposeWith(d, header)), "#18\n"+spaces(15)+"at Table B10\nGuests 4\n")
}

func TestWhatMayBeCancelledIsAskedInTheStyleOfAVoid(t *testing.T) {
	d := everyday()
	d.Ticket.MayCancel, d.Ticket.Lines[0].MayCancel = "flow: CANCELLED", "step: VOIDED"
	lines := ComposeWith(d, Options{Columns: 42})
	for _, question := range []string{"** cancelled? flow: CANCELLED **", "** cancelled? step: VOIDED **"} {
		st := sizeOf(t, lines, question)
		assert.True(t, st.Invert && st.Red, question, st)
	}
	assert.True(t, !strings.Contains(content(lines), "VOID **  "), lines)
}

func TestTheTimeThatIsPromisedPrintsInTheVenuesZone(t *testing.T) {
	received := time.Date(2026, 2, 6, 8, 0, 0, 0, time.UTC)
	for promised, want := range map[string]string{
		"2026-02-06T08:30:00Z": "Wanted 19:30", "2026-02-06T19:30:00+11:00": "Wanted 19:30",
		"2026-02-06T08:30:00.000+0000": "Wanted 19:30",
		"2026-02-07T00:30:00Z":         "Wanted Sat 7 Feb 11:30", "half past\nseven": "Wanted half past seven", "": "",
	} {
		tk := ticket.Ticket{Promised: promised, Zone: "Australia/Melbourne", Received: received}
		assert.Equal(t, Wanted(&tk), want, promised)
	}
}
