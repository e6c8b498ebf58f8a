// Package setup loads a configuration for the daemon and for the commands that need none, so one that
// `ticketrail check` accepts is one that the daemon accepts.
package setup

import (
	"net/http"

	"ticketrail/cmd/internal/notify"
	"ticketrail/config"
	"ticketrail/receiver/pos"
)

// Load reads a configuration file and checks all of it. The error is [config.Problems]. All problems are found
// in one run: to correct one and start again, ten times, takes too long on a Friday evening.
func Load(path string) (*config.Config, error) { return config.Load(path, notify.Problems) }

// NewServiceClient makes a client of the point-of-sale API. It does not connect. A nil through is the network. The
// secret is read from its file at each token request, so a renewed one needs no restart.
func NewServiceClient(c config.Service, through http.RoundTripper) *pos.Client {
	return pos.New(pos.Options{
		BaseURL: c.BaseURL, ClientID: c.ClientID, Transport: through, Timeout: c.Timeout,
		Secret: func() (string, error) {
			s, err := c.ReadSecret()
			return s.Reveal(), err
		},
		TokenPath: c.Token.Path, MePath: c.Me.Path, LaborPrefix: c.Labor.Prefix,
		TokenVenueParam: c.Token.VenueParam, ClientIDParam: c.Token.ClientIDParam,
		ClientSecretParam: c.Token.ClientSecretParam, InHeader: c.Token.AuthStyle == "header",
		AsJSON: c.Token.Format == "json",
		Scopes: c.Token.Scopes, TokenField: c.Token.Field,
		PageLimit: c.Employees.Limit, CursorAt: c.Employees.Cursor, PayrollVenueParam: c.Payroll.VenueParam,
	})
}
