package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ticketrail/cmd/internal/app"
)

func (c *cli) serve() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "run the daemon",
		Long: `serve runs the daemon in the foreground until SIGTERM or SIGINT; a second one ends it at
once. SIGHUP reads the configuration again; a bad one changes nothing and is logged.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Heard from here on, so that an early SIGHUP does not end the program.
			reload := make(chan os.Signal, 1)
			signal.Notify(reload, syscall.SIGHUP)
			defer signal.Stop(reload)
			if err := c.configured(); err != nil {
				return err
			}
			return app.Run(cmd.Context(), app.Options{ConfigPath: c.config, Reload: reload})
		},
	}
}

// configured refuses a configuration that will not do with all its problems.
func (c *cli) configured() error {
	if _, err := app.Check(c.config); err != nil {
		return &configError{err}
	}
	return nil
}
