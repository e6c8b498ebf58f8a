package kds

import (
	"crypto/rand"
	"crypto/sha256"
	"net/netip"
	"strings"
	"time"
)

// An applicant is a browser that shows a code.
type applicant struct {
	code             string
	id               string // of its pairing, once somebody tried that; only with write
	address, browser string
	made, asked      time.Time // when the code was made; when the browser last asked about it
}

const (
	codeLetters = 8
	codeFor     = 10 * time.Minute
	lostAfter   = time.Minute // an applicant that does not ask for so long is gone
	mostWaiting = 64
	mostAtOnce  = 16 // of those, from one address
	// A minute: codes for one address, and wrong codes given by people.
	mostAsked = 10
	mostWrong = 10
)

// apply gives a browser a code, and a secret if it has none that is waiting. ok is false when
// too many wait or one address asks too often.
func (p *Pairings) apply(secret, address, browser string) (newSecret, code string, ok bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for h, a := range p.waiting {
		if now.Sub(a.asked) > lostAfter || now.Sub(a.made) > codeFor {
			delete(p.waiting, h)
		}
	}
	hash := sha256.Sum256([]byte(secret))
	if a := p.waiting[hash]; a != nil {
		a.asked = now
		return secret, a.code, true
	}
	from := neighbourhood(address)
	for k, list := range p.asked {
		if list = lately(list, now); len(list) == 0 {
			delete(p.asked, k)
		} else {
			p.asked[k] = list
		}
	}
	neighbours := 0
	for _, a := range p.waiting {
		if neighbourhood(a.address) == from {
			neighbours++
		}
	}
	if len(p.waiting) >= mostWaiting || neighbours >= mostAtOnce || len(p.asked[from]) >= mostAsked {
		return "", "", false
	}
	p.asked[from] = append(p.asked[from], now)
	secret = rand.Text()
	a := &applicant{code: p.newCode(), address: address, browser: browser, made: now, asked: now}
	p.waiting[sha256.Sum256([]byte(secret))] = a
	return secret, a.code, true
}

// waits says whether the browser with that secret has a code that can still be used.
func (p *Pairings) waits(secret string) bool {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.waiting[sha256.Sum256([]byte(secret))]
	if a == nil || now.Sub(a.made) > codeFor {
		return false
	}
	a.asked = now
	return true
}

// find returns the applicant that shows code.
func (p *Pairings) find(code string) (hash [32]byte, a *applicant, err error) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wrong = lately(p.wrong, now); len(p.wrong) >= mostWrong {
		return hash, nil, ErrTooMany
	}
	for h, a := range p.waiting {
		if a.code == code && now.Sub(a.made) <= codeFor {
			return h, a, nil
		}
	}
	p.wrong = append(p.wrong, now)
	return hash, nil, ErrNoCode
}

// newCode needs mu.
func (p *Pairings) newCode() string {
	for {
		code := randomLetters(codeLetters)
		free := true
		for _, a := range p.waiting {
			free = free && a.code != code
		}
		if free {
			return code
		}
	}
}

// lately keeps of times, which are in order, those of the last minute.
func lately(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= time.Minute {
		times = times[1:]
	}
	return times
}

// neighbourhood is what counts as one address: of IPv6 everybody has many.
func neighbourhood(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	net, _ := ip.WithZone("").Prefix(64)
	return net.String()
}
