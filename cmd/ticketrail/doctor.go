package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/admin"
	"ticketrail/cmd/internal/doctor"
)

// doctor is for when nothing prints and nobody knows why; status needs a daemon that answers, and this does not.
func (c *cli) doctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "look for what keeps tickets from printing, also without the daemon",
		Long: `doctor looks at the configuration, the service, the ports, the database and its
disk, the clock, certificates, the address that the service uses, drivers,
printers, screens and the point-of-sale API, and at what the running daemon says
of itself (as "status"). Each finding is OK, WARN or FAIL, with what to do, the
worst first. It changes and prints nothing; to time the disk, it writes a small
file and removes it. The exit code is 1 if something needs a person. Run it as
root: it then also sees what the service's user cannot read, and which program
has a port.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			box := doctor.Box{Root: "/"}
			if exe, err := os.Executable(); err == nil {
				box.CheckStore = doctor.CheckInChild(exe)
			}
			found := box.Diagnose(cmd.Context(), c.config)
			o := admin.Overview{Build: admin.ThisBuild(), Findings: joinFindings(c.askDaemon(cmd), found)}
			slices.SortStableFunc(o.Findings, admin.WorstFirst)
			var err error
			if asJSON {
				err = showJSON(c.out, o.Findings)
			} else {
				err = write(c.out, overviewText(o, columnsOf(c.out), coloured(c.out)))
			}
			if needed := o.NeedsPerson(); err == nil && len(needed) > 0 {
				return fmt.Errorf("needs a person: %s", strings.Join(needed, ", "))
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// joinFindings adds to what the daemon says what was found without it. Of a station that the daemon reports as
// wrong it knows more, for example how many tickets wait; of a certificate, why it got none.
func joinFindings(said, found []admin.Finding) []admin.Finding {
	return slices.Concat(said, slices.DeleteFunc(found, func(f admin.Finding) bool {
		_, station, _ := strings.Cut(f.Subject, " ") // as in "printer grill"
		return slices.ContainsFunc(said, func(s admin.Finding) bool {
			return s.Station && s.Subject == station || s.Subject == "certificate" && s.Subject == f.Subject
		})
	}))
}

// askDaemon is what the running daemon says, without what was looked at already.
func (c *cli) askDaemon(cmd *cobra.Command) []admin.Finding {
	d, err := c.client()
	if err != nil {
		return nil // the configuration, which is a finding already
	}
	o, err := c.overview(cmd.Context(), d)
	if n, ok := errors.AsType[*admin.NotRunning](err); ok {
		return []admin.Finding{{Level: admin.Fail, Subject: "daemon", Text: "no answer at " + n.Socket,
			Do: "systemctl start ticketrail; if it ends again, journalctl -u ticketrail -n 50 says why"}}
	}
	if err != nil {
		return []admin.Finding{{Level: admin.Fail, Subject: "daemon", Text: singleLine(err.Error())}} // says what to do
	}
	return slices.DeleteFunc(o.Findings, func(f admin.Finding) bool {
		return slices.Contains([]string{"clock", "disk"}, f.Subject) ||
			f.Subject == "configuration" && f.Level == admin.OK
	})
}
