package push

import (
	"net/http"
	"slices"
	"time"

	"ticketrail/printer/webhook"
	"ticketrail/queue/ticket"
)

// stationFaults are the answers that say nothing about the ticket: the display, or a proxy before it, does not
// accept this box, its credentials or its address. It would answer the next ticket in the same way.
var stationFaults = []int{
	http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
	http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
}

// askAgainAfter is the pause after such an answer. It is less than a minute because a ticket comes here only
// every 25 to 30 s while a backup prints.
const askAgainAfter = 50 * time.Second

// interpret turns an answer into the ticket's outcome.
func (s *Display) interpret(a webhook.Answer) (err error) {
	var pause time.Duration
	var refusal error

	switch {
	case a.Code >= 200 && a.Code <= 299, a.Code == http.StatusConflict:
	case a.Code >= 300 && a.Code <= 399:
		// The redirect was not followed, so the ticket was not taken.
		err = ticket.Untouched(s.errorf("it answered %d, a redirect to %s: set url to the address that accepts tickets",
			a.Code, a.Redirect))
	// By these the display says that it has not processed the ticket.
	case a.Code == http.StatusRequestTimeout, a.Code == http.StatusTooEarly, a.Code == http.StatusTooManyRequests:
		pause = a.RetryAfter
		err = ticket.Untouched(s.errorf("it answered %s", a.Said))
	case slices.Contains(stationFaults, a.Code):
		pause = askAgainAfter
		refusal = s.errorf("it takes no tickets: %s; it is asked again within a minute", a.Said)
		err = ticket.Untouched(ticket.NotReady(refusal))
	case a.Code >= 400 && a.Code <= 499:
		err = ticket.Untouched(ticket.Permanent(s.errorf("%s", a.Said)))
	default: // it may have taken the ticket and failed after that
		pause = a.RetryAfter
		err = s.errorf("it answered %s", a.Said)
	}

	s.setPause(pause, refusal)
	return err
}

// setPause begins a pause of length d, or ends one if d is 0. refusal is why the display takes no ticket; nil:
// it asked for the pause. It is kept in memory only: after a restart one request too many does no harm.
func (s *Display) setPause(d time.Duration, refusal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.pause

	switch s.pause = (Pause{}); {
	case d <= 0:
		return
	case refusal != nil && was.Refusal != nil:
		s.pause.Since = was.Since
	case refusal != nil:
		s.pause.Since = time.Now()
	}

	s.pause.Until, s.pause.Refusal = time.Now().Add(d), refusal
}
