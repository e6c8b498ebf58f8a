package ticket

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ticketrail/deploy/assert"
)

func TestATicketSurvivesStorage(t *testing.T) {
	in := Ticket{
		Venue: "v", Device: "d", Request: "r", Number: "18", Table: "B10", Notes: []string{"now"},
		Received: time.Date(2026, 11, 20, 19, 30, 0, 0, time.UTC), Zone: "Australia/Melbourne",
		Lines:  []Line{{Quantity: "1", Name: "Crème brûlée", Notes: []string{"\x1b@"}, Void: true}},
		AlsoAt: []string{"bar"},
	}
	b, err := Marshal(in)
	assert.NoError(t, err)
	out, err := Unmarshal(b)
	assert.NoError(t, err)
	in.V = Version
	assert.Equal(t, cmp.Diff(in, out), "")
}

func TestATicketOfANewerFormatIsRefused(t *testing.T) {
	got, err := Unmarshal([]byte(`{"v":99,"venue":"v"}`))
	assert.True(t, err != nil && cmp.Equal(got, Ticket{}), got, err)
}

// firstRelease is a ticket written by the first release. It must be readable for ever: never change this text.
const firstRelease = `{"v":1,"venue":"6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11","venue_name":"Harbour Grill",` +
	`"device":"BW-E-Tablet-01","request":"r","record":"r","number":"18","table":"B10","server":"Ana G.",` +
	`"type":"Dine In","guests":"2","destination":"GRILL","course":"Entrees","notes":["n"],"void":true,"refire":true,` +
	`"received":"2026-11-20T08:30:00Z","zone":"Australia/Melbourne","lines":[{"d":1,"q":"2","n":"Burger","raw":true,` +
	`"notes":["x"],"seat":"1","course":"c","void":true,"refire":true,"no_route":true,"of":"p"}],"raw":"{}"}`

func TestTicketsOfTheFirstReleaseStayReadable(t *testing.T) {
	tk, err := Unmarshal([]byte(firstRelease))
	assert.NoError(t, err)
	b, err := Marshal(tk)
	assert.NoError(t, err)
	written := strings.Replace(firstRelease, `,"of":"p"`, "", 1) // nothing has it any more
	assert.Equal(t, string(b), written)
}

// TestWhatEarlierVersionsStoredInAnotherFormStaysReadable: the other stations, and the later voids.
func TestWhatEarlierVersionsStoredInAnotherFormStaysReadable(t *testing.T) {
	got, err := Unmarshal([]byte(`{"v":1,"number":"18","also_at":[{"station":"bar"}],` +
		`"later":["VOID at 19:40: job 13",{"job":14,"clock":"19:41"},{}]}`))
	assert.NoError(t, err)
	assert.Equal(t, got.Number, "18")
	want := []string{"VOID at 19:40: job 13", "VOID at 19:41: job 14", "VOID: more jobs"}
	assert.Equal(t, cmp.Diff(want, got.Later.Texts()), "")
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(firstRelease))
	f.Add([]byte(`{"v":1}`))
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tk, err := Unmarshal(b)
		if err != nil {
			assert.True(t, cmp.Equal(tk, Ticket{}), err, tk)
			return
		}
		again, err := Marshal(tk)
		if err != nil {
			return // a year that JSON cannot write
		}
		back, err := Unmarshal(again)
		assert.NoError(t, err)
		third, err := Marshal(back)
		assert.NoError(t, err)
		assert.Equal(t, string(third), string(again))
	})
}

func TestAMarkIsFoundThroughWrapping(t *testing.T) {
	p := fmt.Errorf("print: %w", errors.Join(io.EOF, Permanent(io.ErrUnexpectedEOF)))
	assert.True(t, IsPermanent(p) && !IsNotReady(p) && errors.Is(p, io.ErrUnexpectedEOF), p)
	n := NotReady(io.EOF)
	assert.True(t, IsNotReady(n) && !IsPermanent(n) && n.Error() == "EOF", n)
	u := Untouched(Permanent(io.EOF))
	assert.True(t, IsUntouched(u) && IsPermanent(u) && !IsNotReady(u), u)
	assert.True(t, !IsUntouched(NotReady(Untouched(io.EOF)))) // who wraps it may know that more has happened
	assert.True(t, !IsPermanent(nil) && !IsNotReady(io.EOF))
}
