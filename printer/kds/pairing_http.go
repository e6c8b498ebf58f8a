package kds

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// cookieName holds the secret of a browser, from the moment on at which it is shown a code.
const cookieName = "ticketrail_screen"

// cookieFor is the most a browser keeps a cookie; each visit counts anew.
const cookieTTL = 400 * 24 * time.Hour

// A guest is somebody who may see screens: whoever sits at this machine, or a paired browser.
type grant struct {
	pairings *Pairings
	pairing  *activePairing // nil: at this machine
	secret   string
}

// guest returns nil for a browser that may see nothing.
func (s *Server) grantFor(r *http.Request) *grant {
	if isLocal(r) {
		return &grant{}
	}
	secret := secretCookie(r)
	if k := s.pairings.bySecret(secret); k != nil {
		return &grant{pairings: s.pairings, pairing: k, secret: secret}
	}
	return nil
}

func (g *grant) allows(station string) bool { return g.pairing == nil || g.pairing.Station == station }

// revoked is closed when the guest must go; nil, for never, at this machine.
func (g *grant) revoked() <-chan struct{} {
	if g.pairing == nil {
		return nil
	}
	return g.pairing.revoked
}

// renew has the browser keep its secret for another year.
func (g *grant) renew(w http.ResponseWriter, r *http.Request) {
	if g.pairing != nil {
		g.pairings.noteSeen(r.Context(), g.pairing)
		setSecretCookie(w, r, g.secret)
	}
}

// local says that a request comes from a browser on this machine that asks for this machine. A
// proxy here brings requests from anywhere; a name that somebody else's DNS points
// here is the way of a foreign page to act as a browser here.
func isLocal(r *http.Request) bool {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLoopback(from) {
		return false
	}
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.EqualFold(host, "localhost") || isLoopback(host)
}

func isLoopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Unmap().IsLoopback()
}

func secretCookie(r *http.Request) string {
	c, err := r.Cookie(cookieName)
	if err != nil || len(c.Value) > 64 {
		return ""
	}
	return c.Value
}

func setSecretCookie(w http.ResponseWriter, r *http.Request, secret string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", MaxAge: int(cookieTTL / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// showCode shows a browser the code under which a person can pair it.
func (s *Server) showCode(w http.ResponseWriter, r *http.Request) {
	address := r.RemoteAddr
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	browser := oneLine(r.UserAgent())
	if cut := []rune(browser); len(cut) > 120 {
		browser = string(cut[:120])
	}
	secret, code, ok := s.pairings.requestCode(secretCookie(r), address, browser)
	if !ok {
		w.Header().Set("Retry-After", "60")
		retryInAMinute(w)
		http.Error(w, "too many screens ask to be paired; try again in a minute", http.StatusTooManyRequests)
		return
	}
	setSecretCookie(w, r, secret)
	s.serveTemplate(w, "pairing.html", pairingView{Web: s.web.base, Code: code[:4] + "-" + code[4:]})
}

// pairing tells a page that shows a code how it stands.
func (s *Server) pairingState(w http.ResponseWriter, r *http.Request) {
	state := "expired"
	if s.grantFor(r) != nil {
		state = "paired"
	} else if s.pairings.isPending(secretCookie(r)) {
		state = "waiting"
	}
	s.writeJSON(w, map[string]string{"state": state})
}
