package receiver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

func TestARefusedRequestIsPrintedOnceItsCauseIsMended(t *testing.T) {
	strict := func(p *Policy) { p.Mode = contract.Strict }
	devices := func(id string) func(*Policy) {
		return func(p *Policy) { p.Venues[0].Devices = []string{id} }
	}
	for _, c := range []struct {
		one  StoredReject
		set  func(*Policy)
		want string // the hindrance; empty: it prints also without lenient
	}{
		{late(ContentType, "Content-Type: want application/json", burger), nil, ""},
		{late(SchemaMismatch, "records[0].items: want an array", `{"records":[{"id":"x","items":{}}]}`), nil,
			"still cannot be read: records[0].items"},
		{late(InvalidJSON, "byte 1", "\x1b order 18"), nil, "still cannot be read: byte 0"},
		{late(SchemaMismatch, "want a UUID", requestOfItems("a", 1)), strict, "want a UUID"},
		{late(DeviceNotAllowed, "not one of", burger), devices(device), ""},
		{late(DeviceNotAllowed, "not one of", burger), devices("other"), "still not one of the venue's devices"},
		{late(BodyTooLarge, "too large", burger+strings.Repeat(" ", 1<<20)), nil, "receiver.max_body is 1048576"},
	} {
		b := newTestbed(t, func(_ *Options, p *Policy) {
			if p.OnlyReportConflict = true; c.set != nil {
				c.set(p)
			}
		})
		receipt, err := b.PrintLate(t.Context(), c.one, false)
		h, hindered := errors.AsType[*Hindrance](err)
		if hindered != (c.want != "") || hindered && (!strings.Contains(h.Message, c.want) || b.intake.stored != nil) {
			t.Fatalf("%v, want %q", err, c.want)
		}
		if receipt, err = b.PrintLate(t.Context(), c.one, true); err != nil || receipt.Duplicate == hindered {
			t.Fatalf("lenient: %+v, %v", receipt, err)
		}

		got := b.intake.requests()[0]
		reason, _, _ := strings.Cut(c.one.Message, ";")
		heads := got.Drafts[0].Ticket.Heads()
		assert.True(t, heads[0] == "LATE – refused at 19:32: "+reason && got.PrintEvenIfReported, heads)
		assert.True(t, !got.OnlyReportConflict,
			"if it differs from what has printed, only the list would say so, from where it came")
		assert.True(t, got.Received.Equal(c.one.Time) && got.Device == device && got.Venue == venueID, got)
	}
}

func TestWhatCannotBePrintedLateSaysWhy(t *testing.T) {
	b := newTestbed(t, nil)
	for _, c := range []struct {
		want    string
		lenient bool
		change  func(*StoredReject)
	}{
		{"not listed under venues", true, func(s *StoredReject) { s.Venue = "00000000-0000-4000-8000-000000000001" }},
		{"there is no body", true, func(s *StoredReject) { s.Count = 1 }},
		{"its body is empty", true, func(s *StoredReject) { s.Body = nil }},
		{"only the beginning", false, func(s *StoredReject) { s.Truncated = true }},
		{"names no device", false, func(s *StoredReject) { s.Device = "" }},
	} {
		one := late(SchemaMismatch, "x", burger)
		c.change(&one)
		_, err := b.PrintLate(t.Context(), one, c.lenient)
		h, ok := errors.AsType[*Hindrance](err)
		assert.True(t, ok && strings.Contains(h.Message, c.want), err, c.want)
	}
}

func TestABodyIsKeptAndCanPrintWhateverWasWrongIfItIsKnownWhoSentIt(t *testing.T) {
	const hook, wrong, here, elsewhere = "/webhooks/print", "/webhook/prints", "192.0.2.0/24", "203.0.113.0/24"
	for _, c := range []struct {
		path, venue string // of the request
		secret      string // of all venues; own: of each venue its own
		allow       string
		kept        bool
	}{
		{hook + "/" + goodSecret, otherVenue, goodSecret, "", true},
		{hook + "/" + goodSecret, "", goodSecret, "", true},
		{hook + "/" + goodSecret, venueID, goodSecret, elsewhere, true},
		{hook, otherVenue, "", here, true},
		{wrong, venueID, "", here, true},
		{hook + "/" + goodSecret + "x", venueID, goodSecret, here, false},
		{hook, venueID, "", elsewhere, false},
		{hook, otherVenue, "", "", false},
		{hook + "/own-old", otherVenue, "own", elsewhere, false}, // the secret of one venue proves nothing of another
	} {
		b := newTestbed(t, func(o *Options, p *Policy) {
			if c.allow != "" {
				p.AllowFrom = prefixes(c.allow)
			}
			if c.secret == "own" {
				ownSecrets(o, p)
			} else if c.secret != "" {
				p.Secrets = []string{c.secret}
			}
		})
		req := post([]byte(burger))
		req.URL.Path, req.RemoteAddr = c.path, "192.0.2.7:5"
		if req.Header.Set(contract.HeaderVenue, c.venue); c.venue == "" {
			req.Header.Del(contract.HeaderVenue)
		}
		b.do(req)
		kept := b.rejected()
		if len(kept) != 1 || (string(kept[0].Body) == burger) != c.kept || (kept[0].Count == 0) != c.kept {
			t.Fatalf("%+v: kept %+v", c, kept)
		}
		if !c.kept {
			continue
		}

		one := StoredReject{Reject: kept[0]}
		if c.venue != venueID {
			_, err := b.PrintLate(t.Context(), one, false)
			assert.True(t, err != nil, c)
			one.Venue = "Harbour Grill" // rejects print --venue
		}
		_, err := b.PrintLate(t.Context(), one, false)
		assert.True(t, err == nil && len(b.intake.requests()) == 1, c, err, len(b.intake.requests()))
	}
}

func TestABodyIsKeptThatWasRefusedForItsDeviceOrConflicts(t *testing.T) {
	b := newTestbed(t, func(_ *Options, p *Policy) { p.Venues[0].Devices = []string{device} })
	for range 2 {
		req := post([]byte(burger))
		req.Header.Set(contract.HeaderDevice, "other")
		b.do(req)
	}
	b.do(post([]byte(burger)))
	b.do(post([]byte(strings.Replace(burger, "Cheeseburger", "Steak", 1))))
	var got []string
	for _, one := range b.rejected() {
		got = append(got, one.Code)
		assert.True(t, (len(one.Body) == len(burger) || one.Code == "conflict") && !one.Truncated && one.Count == 0,
			one.Code, len(one.Body))
		assert.True(t, one.Printed.IsZero() != (one.Code == "conflict"), one.Code, one.Printed)
	}
	assert.Equal(t, strings.Join(got, " "), "device_not_allowed device_not_allowed conflict", got)
	assert.Equal(t, b.largeReserved.Load(), 0)
}

func TestABodyThatCausesAPanicPrintsAsText(t *testing.T) {
	b := newTestbed(t, func(_ *Options, p *Policy) {
		p.Plan = oddPlan{p.Plan, func(r contract.PrintRequest) {
			if r.Records[0].Unreadable == "" {
				panic("boom")
			}
		}}
	})
	b.want(t, post([]byte(burger)), 500)
	one := StoredReject{ID: 1, Reject: b.rejected()[0]}
	_, err := b.PrintLate(t.Context(), one, false)
	h, ok := errors.AsType[*Hindrance](err)
	assert.True(t, ok && strings.Contains(h.Message, "internal error; printed"), err)
	if _, err := b.PrintLate(t.Context(), one, true); err != nil {
		t.Fatal(err)
	}
	d := b.intake.requests()[0].Drafts[0]
	assert.True(t, strings.Contains(d.Ticket.Raw, "Cheeseburger"), d)
}

// late is the refused body as Rejects returns it.
func late(code Code, message, body string) StoredReject {
	return StoredReject{ID: 3, Size: len(body), Reject: Reject{
		Time: time.Date(2026, 11, 20, 8, 32, 0, 0, time.UTC), Venue: venueID, Device: device,
		Code: string(code), Message: message, Body: []byte(body)}}
}
