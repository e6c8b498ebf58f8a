package kds

import (
	"crypto/rand"
	"crypto/sha256"
	"net/netip"
	"strings"
	"time"
)

// An applicant is a browser that shows a code.
type pendingPairing struct {
	code             string
	id               string // of its pairing, once somebody tried that; only with write
	address, browser string
	made, asked      time.Time // when the code was made; when the browser last asked about it
}

const (
	codeLength           = 8
	codeTTL              = 10 * time.Minute
	pendingTimeout       = time.Minute // an applicant that does not ask for so long is gone
	maxPending           = 64
	maxPendingPerAddress = 16 // of those, from one address
	// A minute: codes for one address, and wrong codes given by people.
	maxCodesPerMinute = 10
	maxWrongPerMinute = 10
)

// apply gives a browser a code, and a secret if it has none that is waiting. ok is false when
// too many wait or one address asks too often.
func (p *Pairings) requestCode(secret, address, browser string) (newSecret, code string, ok bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for h, a := range p.pending {
		if now.Sub(a.asked) > pendingTimeout || now.Sub(a.made) > codeTTL {
			delete(p.pending, h)
		}
	}
	hash := sha256.Sum256([]byte(secret))
	if a := p.pending[hash]; a != nil {
		a.asked = now
		return secret, a.code, true
	}
	from := addressGroup(address)
	for k, list := range p.codesMade {
		if list = lastMinute(list, now); len(list) == 0 {
			delete(p.codesMade, k)
		} else {
			p.codesMade[k] = list
		}
	}
	neighbours := 0
	for _, a := range p.pending {
		if addressGroup(a.address) == from {
			neighbours++
		}
	}
	if len(p.pending) >= maxPending || neighbours >= maxPendingPerAddress ||
		len(p.codesMade[from]) >= maxCodesPerMinute {
		return "", "", false
	}
	p.codesMade[from] = append(p.codesMade[from], now)
	secret = rand.Text()
	a := &pendingPairing{code: p.unusedCode(), address: address, browser: browser, made: now, asked: now}
	p.pending[sha256.Sum256([]byte(secret))] = a
	return secret, a.code, true
}

// waits says whether the browser with that secret has a code that can still be used.
func (p *Pairings) isPending(secret string) bool {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.pending[sha256.Sum256([]byte(secret))]
	if a == nil || now.Sub(a.made) > codeTTL {
		return false
	}
	a.asked = now
	return true
}

// find returns the applicant that shows code.
func (p *Pairings) byCode(code string) (hash [32]byte, a *pendingPairing, err error) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wrongCodes = lastMinute(p.wrongCodes, now); len(p.wrongCodes) >= maxWrongPerMinute {
		return hash, nil, ErrTooManyCodes
	}
	for h, a := range p.pending {
		if a.code == code && now.Sub(a.made) <= codeTTL {
			return h, a, nil
		}
	}
	p.wrongCodes = append(p.wrongCodes, now)
	return hash, nil, ErrUnknownCode
}

// newCode needs mu.
func (p *Pairings) unusedCode() string {
	for {
		code := randomLetters(codeLength)
		free := true
		for _, a := range p.pending {
			free = free && a.code != code
		}
		if free {
			return code
		}
	}
}

// lately keeps of times, which are in order, those of the last minute.
func lastMinute(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= time.Minute {
		times = times[1:]
	}
	return times
}

// neighbourhood is what counts as one address: of IPv6 everybody has many.
func addressGroup(address string) string {
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
