package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/finding"
	"ticketrail/cmd/internal/natsaccess"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/receiver/relay"
)

// askRelay is for all questions to one of the relay's servers.
const askRelay = 5 * time.Second

// sourceFindings ask each server of the relay, with the credentials of this box, how many orders wait for it. None is
// taken.
func sourceFindings(ctx context.Context, conf *config.Config, now time.Time) []admin.Finding {
	s := conf.Source
	if !s.Enabled() {
		return nil
	}
	creds, err := natsaccess.ReadCredentials(s.CredsFile)
	if err != nil {
		return []admin.Finding{fail("relay", "no order can be fetched: "+layout.Clean(err.Error()),
			"put the file there that ticketrail relay venues add has made for the venue")}
	}
	if creds.Name != s.Venue {
		return []admin.Finding{fail("relay", fmt.Sprintf("%s is for %s, and source.venue is %s", s.CredsFile,
			layout.Clean(creds.Name), s.Venue), "use the file that was made for this venue")}
	}
	out := make([]admin.Finding, len(s.NATS))
	var wg sync.WaitGroup
	for i, address := range s.NATS {
		wg.Go(func() { out[i] = serverFinding(ctx, s, address) })
	}
	wg.Wait()
	if slices.ContainsFunc(out, func(f admin.Finding) bool { return f.Level == admin.OK }) {
		for i := range out { // one that answers is enough
			if out[i].Level == admin.Fail {
				out[i].Level = admin.Warn
			}
		}
	}
	if left := creds.Ends.Sub(now); left < finding.CertificateWarning {
		f := warn("relay", "the credentials expire in "+admin.Age(left), "make new ones on the relay with "+
			"ticketrail relay venues renew")
		if left <= 0 {
			f.Level, f.Text = admin.Fail, "the credentials expired "+admin.Age(-left)+" ago"
		}
		out = append(out, f)
	}
	return out
}

// serverFinding is how one server answers.
func serverFinding(ctx context.Context, s config.Source, address string) admin.Finding {
	nc, err := natsaccess.Try(natsaccess.Options{URLs: []string{address}, CredentialsFile: s.CredsFile,
		Name: "ticketrail doctor"})
	switch {
	case natsaccess.Refused(err):
		return fail("relay", address+" refuses the credentials", "make new ones on the relay with ticketrail relay "+
			"venues renew, and put them into "+s.CredsFile)
	case err != nil:
		return fail("relay", fmt.Sprintf("%s does not answer: %s", address, layout.Clean(err.Error())),
			"the box needs no way in, but must reach that port: look at the internet connection, the firewall and "+
				"the name")
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, askRelay)
	defer cancel()
	waiting, err := relay.Waiting(ctx, nc, s.Venue)
	if err != nil {
		return fail("relay", address+": "+layout.Clean(err.Error()), "see ticketrail relay status on the relay")
	}
	return fine("relay", fmt.Sprintf("%s answers; orders of this box that wait there: %d", address, waiting))
}
