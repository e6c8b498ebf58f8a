package receiver

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

func TestForwardedAddressesAreUsedOnlyFromTrustedProxies(t *testing.T) {
	const friend, neighbour, proxy = "203.0.113.5", "192.168.1.9:1", "192.168.1.2:1"
	for _, c := range []struct {
		proxies, remote, forwarded string // several are separated by bars
		want                       int
	}{
		{"", friend + ":1", "", 200}, {"", neighbour, "", 403}, {"", neighbour, friend, 403},
		// Forged beside the proxy, on the box itself, and through the proxy.
		{"192.168.1.2/32", neighbour, friend, 403}, {"192.168.1.2/32", "127.0.0.1:1", friend, 403},
		{"192.168.1.2/32", proxy, friend, 200}, {"192.168.1.2/32", proxy, friend + ", 198.51.100.1", 403},
		{"192.168.1.2/32", proxy, friend + "|198.51.100.1", 403}, {"192.168.1.2/32", proxy, friend + ", x", 403},
		{"192.168.1.2/32|10.0.0.0/8", proxy, friend + ", 10.9.9.9", 200},
		{"", "[::ffff:203.0.113.5]:1", "", 200}, {"", "[2001:db8::1%eth0]:1", "", 200}, {"", "@", "", 403},
	} {
		b := newTestbed(t, func(_ *Options, p *Policy) {
			p.AllowFrom = prefixes("203.0.113.0/24", "2001:db8::/32")
			if c.proxies != "" {
				p.TrustedProxies = prefixes(strings.Split(c.proxies, "|")...)
			}
		})
		req := post([]byte(burger))
		req.RemoteAddr = c.remote
		req.Header["X-Forwarded-For"] = strings.Split(c.forwarded, "|")
		req.Header.Set("X-Real-Ip", friend)
		b.want(t, req, c.want, c)
	}
}

func TestConnectionsAreCountedByWhoTheCallerIs(t *testing.T) {
	b := newTestbed(t, func(_ *Options, p *Policy) {
		p.TrustedProxies, p.AllowFrom = prefixes("127.0.0.0/8"), prefixes("203.0.113.0/24", "2001:db8::/32")
	})
	for caller, want := range map[string]string{
		"127.0.0.1": " 0", "::ffff:127.0.0.1": " 0",
		"203.0.113.5": "203.0.113.5 128", "::ffff:203.0.113.5": "203.0.113.5 128",
		"2001:db8::1": "2001:db8::/64 128", "2001:db8::2%eth0": "2001:db8::/64 128",
		"192.0.2.1": "not allowed 16", "fe80::1": "not allowed 16",
	} {
		name, most := b.Group(netip.MustParseAddr(caller))
		assert.Equal(t, fmt.Sprint(name, " ", most), want, caller, name, most)
	}
	b.SetPolicy(testPolicy(t))
	name, most := b.Group(netip.MustParseAddr("192.0.2.1"))
	assert.True(t, name == "192.0.2.1" && most == 128, "after a reload", name, most)
}

func TestTheSecretPathIsNeitherAnsweredNorLogged(t *testing.T) {
	const oldSecret, newSecret = "4f9d7c", "-Fb81e5a"
	b := newTestbed(t, func(_ *Options, p *Policy) { p.Path, p.Secrets = "/hook", []string{oldSecret, newSecret} })
	for path, want := range map[string]int{
		"/hook/" + oldSecret: 200, "/hook/" + newSecret: 200, "/hook": 404, "/hook/": 404, "/hook/wrong": 404,
		"/hook/" + oldSecret + "0": 404,
		"/hook/" + oldSecret + "/": 404, "/hook/" + oldSecret + "/x": 404, "/hook//" + oldSecret: 404,
		"/x/../hook/" + oldSecret: 404, "/": 404, "*": 404,
		"/hook/%2d" + newSecret[1:]: 404, "/hoo%6b/" + oldSecret: 404,
		contract.PathWebhook: 404,
	} {
		for _, method := range []string{"POST", "GET", "HEAD", "OPTIONS", "DELETE", "BREW"} {
			switch {
			case method == "BREW": // no method that Echo knows
				want = 404
			case want == 200 && method != "POST":
				want = 405
			}
			req := post([]byte(burger))
			req.Method, req.URL.Path = method, path
			if plain, err := url.PathUnescape(path); err == nil && plain != path {
				req.URL.Path, req.URL.RawPath = plain, path
			}
			w := b.do(req)
			assert.True(t, w.Code == want && !strings.Contains(w.Body.String(), "/hook") &&
				(want == 405) == (w.Header().Get("Allow") == "POST"), method, path, w.Code, w.Body, want)
		}
	}
	assert.True(t, strings.Contains(b.log.String(), "code=wrong_path"), b.log)
	for _, where := range []string{b.log.String(), b.scrape(t)} {
		assert.True(t, !strings.Contains(where, oldSecret) && !strings.Contains(where, newSecret) &&
			!strings.Contains(where, "/hook"), "the path is in", where)
	}
}

func TestHeaderNamesCanBeConfigured(t *testing.T) {
	b := newTestbed(t, func(_ *Options, p *Policy) {
		p.VenueHeader, p.DeviceHeader = "x-other-venueid", "x-other-device-id"
	})
	req := post([]byte(burger))
	_, message := errorOf(t, b.do(req).Body.Bytes())
	assert.Equal(t, message, "x-other-venueid: missing")
	req = post([]byte(burger))
	req.Header["X-Other-Venueid"] = []string{strings.ToUpper(venueID), " " + venueID}
	req.Header.Set("X-OTHER-DEVICE-ID", device)
	b.want(t, req, 200)
}

func TestOnePolicyServesAWholeRequest(t *testing.T) {
	b := newTestbed(t, nil)
	reload := readerFunc(func([]byte) (int, error) {
		p := testPolicy(t)
		p.Venues = nil // a reload that takes the venue away while its request is on the wire
		p.Mode, p.MaxBody = contract.Strict, 1
		b.SetPolicy(p)
		return 0, io.EOF
	})
	req := post(nil)
	req.Body, req.ContentLength = io.NopCloser(io.MultiReader(reload, strings.NewReader(burger))), -1
	b.want(t, req, 200, "in progress")
	b.want(t, post([]byte(burger)), 403, "afterwards")
}

func TestADeviceIsStoredTruncatedAndAsValidUTF8(t *testing.T) {
	b := newTestbed(t, nil)
	req := post([]byte(burger))
	req.Header[http.CanonicalHeaderKey(contract.HeaderDevice)] = []string{"", " caf\xe9" + strings.Repeat("é", 500),
		"second"}
	b.want(t, req, 200)
	got := b.intake.requests()[0].Device
	assert.True(t, strings.HasPrefix(got, "caf\uFFFDéé") && len(got) <= 200 && len(got) >= 198, len(got), got)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
