package ticket

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

// TestEveryFieldThatACookReadsIsPartOfTheDigest: a field that is forgotten would make a change a duplicate. The fields
// that are left out differ between a request and its retry, or say how the ticket came about.
func TestEveryFieldThatACookReadsIsPartOfTheDigest(t *testing.T) {
	for of, leftOut := range map[reflect.Type][]string{
		reflect.TypeFor[Ticket](): {"V", "Venue", "VenueName", "Device", "Request", "Record", "Server", "Check",
			"Received", "Zone", "AlsoAt", "Changed", "RefusedFor", "Banners", "Later", "IsList",
			"Unread"}, // its notes are part of it
		reflect.TypeFor[Line](): {"Unread", "ID"},
	} {
		for i := range of.NumField() {
			tk := Ticket{Lines: []Line{{Quantity: "1", Name: "Fish"}}}
			was := tk.Said()
			v := reflect.ValueOf(&tk).Elem()
			if of == reflect.TypeFor[Line]() {
				v = reflect.ValueOf(&tk.Lines[0]).Elem()
			}
			fill(v.Field(i))
			name := of.Field(i).Name
			// It belongs into Said or into this list.
			assert.Equal(t, tk.Said() == was, slices.Contains(leftOut, name), of.Name(), name)
		}
	}
}

func TestTheSequenceOfItemsIsNotPartOfTheDigestAndThatOfModifiersIs(t *testing.T) {
	said := func(lines ...Line) Digest { return (&Ticket{Lines: lines}).Said() }
	fish, pie := Line{Name: "Fish"}, Line{Name: "Pie"}
	salt, hot := Line{Name: "salt", Depth: 1}, Line{Name: "hot", Depth: 1}
	assert.Equal(t, said(fish, salt, hot, pie), said(pie, fish, salt, hot))
	all := []Digest{said(fish, salt, hot, pie), said(fish, hot, salt, pie), said(fish, salt, pie, hot),
		said(fish, pie, salt, hot), said(fish, salt, hot), said(fish, fish, salt, hot, pie)}
	for i, a := range all {
		assert.True(t, !slices.Contains(all[:i], a), i)
	}
}

func TestTextsThatMeetAreNotTakenForOthers(t *testing.T) {
	for name, x := range map[string][2]Ticket{
		"fields": {{Number: "12"}, {Number: "1", Table: "2"}},
		"notes":  {{Notes: []string{"a", "b"}}, {Notes: []string{"ab"}}},
		"lines":  {{Lines: []Line{{Name: "a"}, {Name: "b"}}}, {Lines: []Line{{Name: "a", Seat: "b"}}}},
		"hold and the depth of the next line": {
			{Lines: []Line{{Hold: true}, {Depth: 1, Quantity: "1", Name: "a", Seat: "b", Course: "c",
				MayCancel: "\x01"}}},
			{Lines: []Line{{}, {Depth: 52, More: 1, Name: "1", Seat: "a", Course: "b", MayCancel: "c",
				Notes: []string{"\x00"}}}},
		},
	} {
		assert.True(t, x[0].Said() != x[1].Said(), name)
	}
}

func TestSharesAreWhatAStationGetsOfAnOrder(t *testing.T) {
	draft := func(station, number, name string) Draft {
		return Draft{station, Ticket{Number: number, Lines: []Line{{Name: name}}}}
	}
	drafts := []Draft{draft("grill", "1", "Fish"), draft("bar", "1", "Tea"), draft("grill", "#1", "Pie"),
		draft("grill", "2", "Pie")}
	shares, all := Shares(drafts)
	assert.True(t, len(shares) == 3 && slices.Equal(shares[0].Drafts, []int{0, 2}) && shares[0].Order == "#1" &&
		shares[2].Station == "grill" && shares[2].Order == "#2", shares)

	other := []Draft{drafts[3], drafts[2], drafts[1], drafts[0]}
	again, same := Shares(other)
	assert.True(t, same == all && again[1].Said == shares[0].Said, "another sequence of records is a change")
	other[0].Station = "bar"
	_, moved := Shares(other)
	assert.True(t, moved != all, "another station is no change")
}

func TestJSONOnATicketSaysTheSameWithOtherIDsAndTimes(t *testing.T) {
	const id, menu = `"6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"`, `"0f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"`
	tickets := func(raw string) [2]Digest {
		line := Ticket{Lines: []Line{{Quantity: "1", Name: raw, Raw: true}}}
		return [2]Digest{(&Ticket{Raw: raw}).Said(), line.Said()}
	}
	first := tickets(`{"id":` + id + `,"menu":` + menu + `,"at":"2026-11-20T19:30:00Z","retryCount":0,"plu":"id"}`)
	for raw, same := range map[string]bool{
		`{"id":` + id + `,"menu":` + menu + `,"at":1770000060,"retryCount":0,"plu":"id"}`:               true,
		`{"id":` + id + `,"menu":` + menu + `,"at": "1770000060.5" ,"retryCount":0,"plu":"id"}`:         true,
		`{"id":` + id + `,"menu":` + menu + `,"at":177000006,"retryCount":0,"plu":"id"}`:                false,
		`{"id":` + menu + `,"menu":` + menu + `,"at":"2026-11-20T19:31:00Z","retryCount":1,"plu":"id"}`: true,
		`{"id":` + id + `,"menu":` + id + `,"at":"2026-11-20T19:30:00Z","retryCount":0,"plu":"id"}`:     false,
		`{"id":"44","menu":` + menu + `,"at":"2026-11-20T19:30:00Z","retryCount":0,"plu":"id"}`:         false,
		`{"id":` + id + `,"menu":` + menu + `,"at":"2026-11-20T19:30:00Z","retryCount":0,"plu":"45"}`:   false,
		`{"id":` + id + `,"menu":` + menu + `,"at":"tonight","retryCount":0,"plu":"id"}`:                false,
	} {
		for i, said := range tickets(raw) {
			assert.Equal(t, said == first[i], same, raw)
		}
	}
	// A text with a quotation mark and a colon is no key.
	assert.True(t, tickets(`["_\":fish"]`) != tickets(`["_\":beef"]`))
}

func TestANumberIsATimeUnderAKeyThatSaysSo(t *testing.T) {
	for number, want := range map[string]bool{
		"1770000060": true, "1770000060.25": true, "1770000060123": true, "2000000000123456789": true,
		"177000006": false, "3770000060": false, "17700000601": false, "-1770000060": false, "1770000060 kg": false,
	} {
		for key, isTime := range map[string]bool{
			"at": true, "addedAt": true, "ADDED_AT": true, "Added-On": true, "editDate": true, "x2Ts": true,
			"epoch": true,
			"heat":  false, "station": false, "HEAT": false, "atLast": false, "": false, "batch": false,
		} {
			assert.Equal(t, IsUnixTime(key, number), want && isTime, key, number)
		}
	}
}

func TestTheHeadOfAChangeNamesWhatItReplaces(t *testing.T) {
	at := time.Date(2026, 11, 20, 18, 31, 0, 0, time.UTC)
	for want, c := range map[string]Change{
		"CHANGED – replaces #142 of 19:31":               {Order: "#142", Received: at, Tickets: 1},
		"CHANGED – replaces the ticket of 19:31":         {Received: at},
		"CHANGED – replaces #142 that came before":       {Order: "#142"},
		"CHANGED – replaces the ticket that came before": {},
		"CHANGED (2 of 3) – replaces 2 tickets, Table 7 of 19:31": {
			Order: "Table 7", Received: at, Tickets: 2, Part: 2, Parts: 3,
		},
	} {
		tk := Ticket{Zone: "Europe/Berlin", Changed: &c, Received: at, RefusedFor: "want a UUID",
			Banners: []string{"LATE"}}
		assert.Equal(t, strings.Join(tk.Heads(), "; "), want+"; LATE – refused at 19:31: want a UUID; LATE")
	}
}

// fill sets a field to anything but zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(3)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	}
}

func TestANumberIsSaidWithANumberSignAndANameIsNot(t *testing.T) {
	for in, want := range map[string]string{
		"18": "#18", "#18": "#18", "": "", "#": "", "4F2A": "#4F2A", "UberEats 4F2A": "UberEats 4F2A",
		"#Order 7": "Order 7",
	} {
		assert.Equal(t, NumberLabel(in), want, in)
	}
}

func TestATableIsSaidWithTheWordOnlyIfItIsANumber(t *testing.T) {
	for _, c := range []struct{ table, orderType, want string }{
		{"12", "", "Table 12"},
		{"B10", "Dine In", "Table B10"},
		{"12A", "Dine in", "Table 12A"},
		{"AB-7", "Eat in", "Table AB-7"},
		{"٣", "", "Table ٣"}, // three, in Arabic
		{"", "Dine In", ""},
		{"Table 12", "Dine In", "Table 12"},
		{"TABLE 4", "", "TABLE 4"},
		{"Terrace 4", "Dine In", "Terrace 4"},
		{"Bar 2", "", "Bar 2"},
		{"B", "", "B"},
		{"Priya", "Takeaway", "Priya"},
		{"Priya", "", "Priya"},
		{"UberEats 4F2A", "Delivery", "UberEats 4F2A"},
		{"UberEats 4F2A", "", "UberEats 4F2A"},
		{"12", "Takeaway", "12"},
		{"12", "UberEats Delivery", "12"},
	} {
		assert.Equal(t, TableLabel(c.table, c.orderType), c.want, c.table, c.orderType)
	}
}

func TestATypeSaysWhetherAnOrderLeavesTheHouse(t *testing.T) {
	for orderType, want := range map[string]bool{
		"Take Away": true, "take-away": true, "TAKEOUT": true, "To Go": true, "Pick-up": true, "Click & Collect": true,
		"Collection": true, "Delivery": true, "Drive Thru": true, "Drive-Through": true, "Carry Out": true,
		"Dine In": false, "Eat in": false, "Bar": false, "Table": false, "": false, "堂食": false,
	} {
		assert.Equal(t, LeavesHouse(orderType), want, orderType)
	}
}
