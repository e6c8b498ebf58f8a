package kds

import (
	"crypto/rand"
	"crypto/sha256"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// A pendingPairing is a browser that shows a code and waits for the operator.
type pendingPairing struct {
	code             string
	id               string // of its pairing, after the first attempt; guarded by write
	address, browser string
	created, asked   time.Time // when the code was made; when the browser last polled
}

// Codes are guessable only in theory: 24 letters in 8 places, valid for ten minutes, ten wrong ones
// a minute. The other limits keep one machine from filling memory or blocking the codes of others.
const (
	codeLength           = 8
	codeTTL              = 10 * time.Minute
	pendingTimeout       = time.Minute // a browser that does not poll for so long has gone
	maxPending           = 64
	maxPendingPerAddress = 10 // of those, from one address group; each waits for a minute or longer
	maxWrongPerMinute    = 10 // entered by operators
)

// requestCode returns the code a browser shows, and its secret: the ones it has, while they are
// valid, or new ones. ok is false if too many browsers wait or one address asks too often.
func (p *Pairings) requestCode(secret, address, browser string) (newSecret, code string, ok bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()

	for h, a := range p.pending {
		if now.Sub(a.asked) > pendingTimeout || now.Sub(a.created) > codeTTL {
			delete(p.pending, h)
		}
	}

	// Only hashes are kept, so that memory holds no secret that would open a screen.
	hash := sha256.Sum256([]byte(secret))
	if waiting := p.pending[hash]; waiting != nil {
		waiting.asked = now
		return secret, waiting.code, true
	}

	from := addressGroup(address)
	sameGroup := 0
	for _, a := range p.pending {
		if addressGroup(a.address) == from {
			sameGroup++
		}
	}

	if len(p.pending) >= maxPending || sameGroup >= maxPendingPerAddress {
		return "", "", false
	}

	secret = rand.Text()
	waiting := &pendingPairing{code: randomLetters(codeLength), address: address, browser: browser,
		created: now, asked: now}
	p.pending[sha256.Sum256([]byte(secret))] = waiting
	return secret, waiting.code, true
}

// isPending reports whether the code of the browser with that secret can still be used.
func (p *Pairings) isPending(secret string) bool {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()

	waiting := p.pending[sha256.Sum256([]byte(secret))]
	if waiting == nil || now.Sub(waiting.created) > codeTTL {
		return false
	}

	waiting.asked = now
	return true
}

// byCode returns the browser that shows code. Wrong codes are counted over all callers, because
// guessing is the same whoever does it. The limit is checked before the code, so that a right guess
// does not get through either while it lasts.
func (p *Pairings) byCode(code string) (hash [32]byte, a *pendingPairing, err error) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()

	p.wrongCodes = slices.DeleteFunc(p.wrongCodes, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(p.wrongCodes) >= maxWrongPerMinute {
		return hash, nil, ErrTooManyCodes
	}

	for h, a := range p.pending {
		if a.code == code && now.Sub(a.created) <= codeTTL {
			return h, a, nil
		}
	}

	p.wrongCodes = append(p.wrongCodes, now)
	return hash, nil, ErrUnknownCode
}

// addressGroup is the name under which limits count an address: an IPv4 address, or the /64 network of an IPv6
// address, because one machine can use every address of that network.
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
