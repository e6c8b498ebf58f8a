package ticket

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// blank is what is on paper where nothing was wanted again.
var blank Paper

func burger(void bool) Line { return Line{Quantity: "1", Name: "Burger", Void: void} }

func draft(lines ...Line) []Draft {
	return []Draft{{Station: "grill", Ticket: Ticket{Request: "r", Record: "r", Lines: lines}}}
}

func TestOnlyWhatBecameVoidIsPrinted(t *testing.T) {
	then := draft(burger(false), Line{Quantity: "2", Name: "Fries"})
	now := draft(burger(true), Line{Quantity: "2", Name: "Fries"}, Line{Quantity: "1", Name: "Cola"})
	now[0].Ticket.AlsoAt = []Part{{"bar"}}
	got := blank.NewlyVoid(blank.Voids(then), now)
	if len(got) != 1 || len(got[0].Ticket.Lines) != 1 {
		t.Fatalf("got %+v, want the burger alone", got)
	}
	if l := got[0].Ticket.Lines[0]; l.Name != "Burger" || !l.Void {
		t.Errorf("got %+v, want a void burger", l)
	}
	if tk := got[0].Ticket; tk.Kind != Correction || !tk.Void || tk.AlsoAt != nil {
		t.Errorf("got %+v, want a correction that is void as a whole and speaks of this station only", tk)
	}
}

func TestAKnownVoidIsNotPrintedAgain(t *testing.T) {
	v := draft(burger(true))
	if got := blank.NewlyVoid(blank.Voids(v), v); got != nil {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestTwoEqualVoidsCountAsTwo(t *testing.T) {
	got := blank.NewlyVoid(blank.Voids(draft(burger(true))), draft(burger(true), burger(true)))
	if len(got) != 1 || len(got[0].Ticket.Lines) != 1 {
		t.Errorf("got %+v, want one more burger", got)
	}
}

func TestAVoidModifierSaysWhatItBelongsTo(t *testing.T) {
	now := draft(burger(false),
		Line{Depth: 1, Quantity: "1", Name: "Cheese", Void: true},
		Line{Depth: 2, Quantity: "1", Name: "Extra", Void: true})
	got := blank.NewlyVoid(nil, now)
	want := []Line{
		{Quantity: "1", Name: "Cheese", Void: true, Parent: "Burger"},
		{Depth: 1, Quantity: "1", Name: "Extra", Void: true},
	}
	if len(got) != 1 {
		t.Fatalf("got %d drafts, want 1", len(got))
	}
	if d := cmp.Diff(want, got[0].Ticket.Lines); d != "" {
		t.Error(d)
	}
}

func TestAVoidRecordWithoutItemsIsAVoid(t *testing.T) {
	d := []Draft{{Station: "grill", Ticket: Ticket{Record: "r", Void: true}}}
	if got := blank.NewlyVoid(nil, d); len(got) != 1 {
		t.Errorf("got %d drafts, want 1", len(got))
	}
	if got := blank.NewlyVoid(blank.Voids(d), d); got != nil {
		t.Errorf("got %+v the second time, want nothing", got)
	}
}

func TestAnUnreadableRecordIsPrintedAgainOnlyIfItIsNew(t *testing.T) {
	then := []Draft{{Station: "grill", Ticket: Ticket{Record: "r", Raw: `{"a":1,"a":2}`}, Unreadable: true}}
	now := []Draft{{
		Station: "grill", Ticket: Ticket{Record: "r", Raw: `{"isVoid":true,"isVoid":true}`}, Unreadable: true,
	}}
	if got := blank.NewlyVoid(blank.Voids(then), then); got != nil {
		t.Errorf("got %+v the second time, want nothing", got)
	}
	got := blank.NewlyVoid(blank.Voids(then), now)
	if len(got) != 1 || got[0].Ticket.Raw != now[0].Ticket.Raw || got[0].Ticket.Void || got[0].Ticket.Kind != Order {
		t.Errorf("got %+v, want it as it came", got)
	}
	now[0].Unreadable = false // it prints as JSON because it has nothing that a ticket shows: it is no cancellation
	if got := blank.NewlyVoid(blank.Voids(then), now); got != nil {
		t.Errorf("got %+v of an order, want nothing", got)
	}
}

func TestACorrectionNeverContainsAnOrder(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) Line {
		return Line{
			Depth:    rapid.IntRange(0, 4).Draw(t, "depth"),
			Quantity: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "quantity"),
			Name:     rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "name"),
			Void:     rapid.Bool().Draw(t, "void"),
		}
	})
	lines := rapid.SliceOfN(line, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		then, now := draft(lines.Draw(t, "then")...), draft(lines.Draw(t, "now")...)
		fresh := blank.NewlyVoid(blank.Voids(then), now)
		n := 0
		for _, d := range fresh {
			for _, l := range d.Ticket.Lines {
				n++
				if !l.Void {
					t.Fatalf("%+v is an order", l)
				}
				if l.Depth < 0 {
					t.Fatalf("%+v has no place", l)
				}
			}
		}
		if have, know := len(blank.Voids(now)), len(blank.Voids(then)); n < have-know {
			t.Fatalf("%d voids now, %d then, and only %d came out", have, know, n)
		}
	})
}

func TestATicketSurvivesStorage(t *testing.T) {
	in := Ticket{
		Venue: "v", Device: "d", Request: "r", Number: "18", Table: "B10", Notes: []string{"now"},
		Received: time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC), Zone: "Australia/Melbourne",
		Lines:  []Line{{Quantity: "1", Name: "Crème brûlée", Notes: []string{"\x1b@"}, Void: true}},
		AlsoAt: []Part{{"bar"}},
	}
	b, err := Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	in.V = Version
	if d := cmp.Diff(in, out); d != "" {
		t.Error(d)
	}
}

func TestATicketOfANewerFormatIsRefused(t *testing.T) {
	if got, err := Unmarshal([]byte(`{"v":99,"venue":"v"}`)); err == nil || !cmp.Equal(got, Ticket{}) {
		t.Errorf("got %+v, %v; want an error and nothing else", got, err)
	}
}

// A ticket written by the first release. It must be readable for ever: never change this text.
const firstRelease = `{"v":1,"venue":"6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11","venue_name":"Harbour Grill",` +
	`"device":"BW-E-Tablet-01","request":"r","record":"r","number":"18","table":"B10","server":"Ana G.",` +
	`"type":"Dine In","guests":"2","destination":"GRILL","course":"Entrees","notes":["n"],"void":true,"refire":true,` +
	`"received":"2026-11-20T08:30:00Z","zone":"Australia/Melbourne","lines":[{"d":1,"q":"2","n":"Burger","raw":true,` +
	`"notes":["x"],"seat":"1","course":"c","void":true,"refire":true,"no_route":true,"of":"p"}],"raw":"{}"}`

func TestTicketsOfTheFirstReleaseStayReadable(t *testing.T) {
	tk, err := Unmarshal([]byte(firstRelease))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(firstRelease, string(b)); d != "" {
		t.Error(d)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(firstRelease))
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tk, err := Unmarshal(b)
		if err != nil {
			if !cmp.Equal(tk, Ticket{}) {
				t.Fatalf("error %v and a value %+v", err, tk)
			}
			return
		}
		again, err := Marshal(tk)
		if err != nil {
			return // a year that JSON cannot write
		}
		back, err := Unmarshal(again)
		if err != nil {
			t.Fatal(err)
		}
		third, err := Marshal(back)
		if err != nil || string(third) != string(again) {
			t.Fatalf("not stable: %s then %s (%v)", again, third, err)
		}
	})
}

func TestAnOutcomeIsFoundThroughWrapping(t *testing.T) {
	p := fmt.Errorf("print: %w", errors.Join(io.EOF, Permanent(io.ErrUnexpectedEOF)))
	if !IsPermanent(p) || IsNotReady(p) || !errors.Is(p, io.ErrUnexpectedEOF) {
		t.Errorf("%v is not permanent, or is not ready, or lost its cause", p)
	}
	if n := NotReady(io.EOF); !IsNotReady(n) || IsPermanent(n) || n.Error() != "EOF" {
		t.Errorf("%v is not what it was marked", n)
	}
	if u := Untouched(Permanent(io.EOF)); !IsUntouched(u) || !IsPermanent(u) || IsNotReady(u) {
		t.Errorf("%v is not both", u)
	}
	if n := NotReady(Untouched(io.EOF)); IsUntouched(n) { // who wraps it may know that more has happened
		t.Errorf("%v is untouched", n)
	}
	if IsPermanent(nil) || IsNotReady(io.EOF) {
		t.Error("an unmarked error carries a mark")
	}
}

func TestAFailedJobIsStoredAsBuried(t *testing.T) {
	b, err := json.Marshal(Failed)
	if string(b) != `"buried"` || err != nil || fmt.Sprint(Failed) != "failed" {
		t.Errorf("stored %s, %v; shown %s", b, err, Failed)
	}
	for text, want := range map[string]State{"failed": Failed, "buried": Failed, "sent": Sent, "Sent": "", "": ""} {
		if got, ok := ParseState(text); got != want || ok != (want != "") {
			t.Errorf("%q is read as %q, %v", text, string(got), ok)
		}
	}
}
