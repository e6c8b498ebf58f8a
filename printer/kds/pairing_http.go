package kds

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ticketrail/printer/layout"
)

// cookieName is the cookie with a browser's secret. It is set when the browser is first shown a
// code.
const cookieName = "ticketrail_screen"

// cookieTTL is the longest that browsers keep a cookie. Each visit starts it anew.
const cookieTTL = 400 * 24 * time.Hour

// A grant is the screens that a browser may see: everything on this computer and for a manager, or one station
// for any other paired browser.
type grant struct {
	pairings *Pairings
	pairing  *activePairing // nil: a browser on this computer
	secret   string
}

// grantFor returns the grant of the browser that sent r; nil if it may see nothing.
func (s *Server) grantFor(r *http.Request) *grant {
	if isLocal(r) {
		return &grant{}
	}
	secret := secretCookie(r)
	if paired := s.pairings.bySecret(secret); paired != nil {
		return &grant{pairings: s.pairings, pairing: paired, secret: secret}
	}
	return nil
}

// allows reports whether the browser may see a station.
func (g *grant) allows(station string) bool { return g.manages() || g.pairing.Station == station }

// revoked is closed when the grant ends. It is nil, which blocks for ever, for a browser on this
// computer.
func (g *grant) revoked() <-chan struct{} {
	if g.pairing == nil {
		return nil
	}
	return g.pairing.revoked
}

// renew has the browser keep its secret for another cookieTTL.
func (g *grant) renew(w http.ResponseWriter, r *http.Request) {
	if g.pairing != nil {
		g.pairings.noteVisit(g.pairing)
		setSecretCookie(w, r, g.secret)
	}
}

// isLocal reports whether a request comes from a browser on this computer that asks for this
// computer by its own name. A proxy on this computer forwards requests from anywhere: the headers
// tell it. A foreign web site can make its DNS name point to 127.0.0.1 to act as a browser here:
// the Host header tells it.
func isLocal(r *http.Request) bool {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLoopback(from) {
		return false
	}

	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(proxyHeaders(), name) {
			return false
		}
	}
	return isLocalHost(r.Host)
}

// proxyHeaders are the headers, beside X-Forwarded-…, that only proxies add.
func proxyHeaders() []string {
	return []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
		"X-Original-Host", "X-Original-Forwarded-For"}
}

// isLocalHost reports whether host, with or without a port, is a name of this computer that no DNS
// server can give another one.
func isLocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.EqualFold(host, "localhost") || isLoopback(host)
}

// isLoopback also accepts ::ffff:127.0.0.1, as a dual-stack listener reports it.
func isLoopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Unmap().IsLoopback()
}

// secretCookie returns the browser's secret; empty if it has none. A longer value was not set by
// us, and is not worth hashing.
func secretCookie(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil || len(cookie.Value) > 64 {
		return ""
	}
	return cookie.Value
}

// setSecretCookie stores the secret in the browser: out of reach for scripts, and not sent with
// requests that another site starts.
func setSecretCookie(w http.ResponseWriter, r *http.Request, secret string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", MaxAge: int(cookieTTL / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// showCode shows the code with which the operator can pair this browser. The browser's name is for
// the operator's list; it is a text of a stranger, so it is cleaned and cut.
func (s *Server) showCode(w http.ResponseWriter, r *http.Request) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr) // the server has set it
	browser := []rune(layout.OneLine(r.UserAgent()))
	secret, code, ok := s.pairings.requestCode(secretCookie(r), address, string(browser[:min(len(browser), 120)]))
	if !ok {
		w.Header().Set("Retry-After", "60")
		retryInAMinute(w)
		http.Error(w, "too many browsers wait to be paired; try again in a minute", http.StatusTooManyRequests)
		return
	}

	setSecretCookie(w, r, secret)
	s.serveTemplate(w, r, "pairing.html", code[:4]+"-"+code[4:])
}

// pairingState tells the page that shows a code whether the browser is paired, waits, or needs a
// new code.
func (s *Server) pairingState(w http.ResponseWriter, r *http.Request) {
	state := "expired"
	if s.grantFor(r) != nil {
		state = "paired"
	} else if s.pairings.isPending(secretCookie(r)) {
		state = "waiting"
	}
	s.writeJSON(w, map[string]string{"state": state})
}
