package finding

import (
	"fmt"
	"strings"
	"time"

	"ticketrail/queue/ticket"
)

// A Certificate is the certificate of the webhook or of the screens.
type Certificate struct {
	Of, Path string // webhook or screens, and its file
	Ends     time.Time
	Err      error  // why it cannot be read
	Name     string // for which the daemon itself gets it from an ACME server; "" for a file
	None     bool   // the ACME server has given none yet
	Why      string // the last answer of the ACME server, if it gave none; it may be hostile
}

// CertificateWarning is how long before its end a certificate is a finding. Renewal programs renew 30 days before the
// end, so two weeks mean that one fails.
const CertificateWarning = 14 * 24 * time.Hour

// NoCertificate begins the identity of one that the daemon has not got yet.
const NoCertificate = "certificate/none/"

// Finding says whether the certificate is good.
func (c Certificate) Finding(now time.Time) Finding {
	fault := Finding{Level: Fail, Subject: "certificate", Do: "renew " + c.Path + "; it is read again by itself"}
	switch left := c.Ends.Sub(now); {
	case c.Name != "" && c.None:
		fault.ID, fault.Text, fault.Detail = NoCertificate, "there is none yet", "for "+c.Name
		fault.Do = "the daemon gets it within a minute; if not, ticketrail status says why"
	case c.Err != nil:
		fault.ID, fault.Text, fault.Detail = "certificate/unreadable/", "it cannot be read", c.Err.Error()
	case left <= 0:
		fault.ID, fault.Text, fault.Since = "certificate/expired/",
			fmt.Sprintf("it expired %s ago", days(-left)), c.Ends
	case left < CertificateWarning:
		fault.ID, fault.Level, fault.Text = "certificate/expires/", Warn, "it expires in "+days(left)
	default:
		fault.Level, fault.Do, fault.Text = OK, "", "valid until "+c.Ends.Format(time.DateOnly)
	}

	if c.Name != "" && fault.Level != OK && !c.None {
		fault.Do = "ticketrail status says why it was not renewed"
	}
	if c.Why != "" {
		if fault.Level == OK {
			fault.ID, fault.Level = "certificate/not_renewed/", Warn
		}
		fault.Detail = strings.TrimPrefix(fault.Detail+"; the last attempt to get one failed: "+c.Why, "; ")
		fault.Do = "the ACME server must be reachable, and port 443 of " + c.Name +
			" must lead to this box, from everywhere; systemctl restart ticketrail tries again at once"
	}

	fault.Text = c.Of + ": " + fault.Text
	if fault.ID != "" {
		fault.ID += c.Of
	}
	return fault
}

// days is d in days as people count them, in hours if it is short.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return Age(d)
	}
	return ticket.Plural(int(d/(24*time.Hour)), "day")
}
