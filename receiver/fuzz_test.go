package receiver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ticketrail/receiver/contract"
)

// FuzzHeaders posts a good body under any headers. Only an allowed venue may ever be stored,
// and only statuses of the contract are answered.
func FuzzHeaders(f *testing.F) {
	f.Add(venueID, "", device, "application/json", "10.0.0.1:1", "203.0.113.5")
	f.Add(strings.ToUpper(venueID), venueID, " \t", "application/json;", "[::1]:1", "::1, x")
	f.Add("{"+venueID+"}", "\x00", "\xff\xfe", "APPLICATION/JSON ; charset=\"", "@", ",,")
	b := newTestbed(f, func(_ *Options, p *Policy) {
		p.TrustedProxies = prefixes("10.0.0.0/8", "::1/128")
		p.AllowFrom = prefixes("203.0.113.0/24", "10.0.0.0/8")
	})
	body := []byte(burger)
	f.Fuzz(func(t *testing.T, venue, venue2, dev, contentType, remote, forwarded string) {
		req := post(body)
		req.RemoteAddr = remote
		req.Header = http.Header{"Content-Type": {contentType}, "X-Forwarded-For": {forwarded}}
		req.Header.Add(contract.HeaderVenue, venue)
		if venue2 != "" {
			req.Header.Add(contract.HeaderVenue, venue2)
		}
		req.Header.Add(contract.HeaderDevice, dev)
		before := len(b.intake.requests())
		w := b.do(req)
		if !slices.Contains([]int{200, 400, 401, 403}, w.Code) || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code == 200 {
			if !strings.EqualFold(strings.TrimSpace(venue), venueID) || strings.TrimSpace(dev) == "" {
				t.Fatalf("stored for venue %q, device %q", venue, dev)
			}
			return
		}
		if len(b.intake.requests()) != before {
			t.Fatal("stored and refused")
		}
	})
}

// FuzzPath posts a good order to any path, as any of the venues. It is stored only at the address of its venue.
func FuzzPath(f *testing.F) {
	for _, end := range []string{"", "/own-old", "/own-new", "/other", "/own%2dold", "%2Fown-old", "/own-old/", "?x",
		"/own-old?x"} {
		f.Add("/webhooks/print"+end, uint8(0))
	}
	f.Add("/webhooks/prin%74/own-old", uint8(0))
	f.Add("/webhooks%2fprint/own-old", uint8(0))
	b := newTestbed(f, ownSecrets)
	venues := []string{venueID, otherVenue, plainVenue, noVenue}
	allowed := map[string]string{"/webhooks/print/own-old": venueID, "/webhooks/print/own-new": venueID,
		"/webhooks/print/other": otherVenue, "/webhooks/print": plainVenue}
	f.Fuzz(func(t *testing.T, path string, which uint8) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return // net/http answers it
		}
		venue := venues[int(which)%len(venues)]
		req := post([]byte(burger))
		req.URL = u
		req.Header.Set(contract.HeaderVenue, venue)
		written, _, _ := strings.Cut(path, "?")
		ours := u.Scheme == "" && u.Host == "" && allowed[written] == venue
		if w := b.do(req); (w.Code == 200) != ours && u.Scheme == "" && u.Host == "" {
			t.Fatalf("%q as %s: %d %s", path, venue, w.Code, w.Body)
		}
	})
}
