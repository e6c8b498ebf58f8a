package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
)

// The configuration may be right and the service still unable to use it: the unit has another user and may write to
// few folders. systemd is asked how the unit is, because drop-ins change it.

// systemctlTimeout is for one question to systemd, which answers in milliseconds.
const systemctlTimeout = 5 * time.Second

// unitSettings asks systemd for properties of a unit. Without systemd, or without the unit, it is nil.
func unitSettings(ctx context.Context, unit string, names ...string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, systemctlTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", "show", unit,
		"--property=LoadState,"+strings.Join(names, ",")).Output()
	if err != nil {
		return nil
	}

	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			found[key] = value
		}
	}

	if found["LoadState"] != "loaded" {
		return nil
	}
	return found
}

// The units of the two daemons.
const (
	boxUnit   = "ticketrail.service"
	relayUnit = "ticketrail-relay.service"
)

// serviceUnit is how a unit runs this configuration; nil if it does not.
func serviceUnit(ctx context.Context, unit, path string) map[string]string {
	settings := unitSettings(ctx, unit, "User", "ExecStart", "ProtectSystem", "StateDirectory",
		"LogsDirectory", "RuntimeDirectory", "ReadWritePaths")
	if abs, err := filepath.Abs(path); err != nil || !slices.Contains(strings.Fields(settings["ExecStart"]), abs) {
		return nil
	}
	return settings
}

// UnitFindings judge how the installed units fit the configuration at path, which [Check] has accepted. Without units
// that use this file there are none.
func UnitFindings(ctx context.Context, path string, conf *config.Config) (out []finding.Finding) {
	service := serviceUnit(ctx, boxUnit, path)
	if service == nil {
		return nil
	}
	out = append(out, readable(ctx, boxUnit, service["User"], path, "check")...)
	return append(out, writable(service, conf)...)
}

// readable reads the configuration as the service's user does, in a child process with that user's rights: to work
// them out from modes would miss access lists and groups. Only root can do it. command is this program's that reads it.
// The daemon finds the same when it starts.
func readable(ctx context.Context, unit, name, path string, command ...string) []finding.Finding {
	if os.Geteuid() != 0 || name == "" || name == "root" {
		return nil
	}
	who, err := user.Lookup(name)
	if err != nil {
		return []finding.Finding{finding.New("service/no_user", finding.Fail, "its user "+name+" does not exist", unit,
			"systemd-sysusers creates the user")}
	}

	exe, _ := os.Executable()
	abs, _ := filepath.Abs(path)
	asUser := append([]string{"--reuid=" + who.Uid, "--regid=" + who.Gid, "--init-groups", exe}, command...)
	cmd := exec.CommandContext(ctx, "setpriv", append(asUser, "--file-only", "--json", "--config", abs)...)
	cmd.Dir = "/" // the working folder of root may be closed to the user
	said, _ := cmd.Output()
	var found []finding.Finding
	if json.Unmarshal(said, &found) != nil {
		return []finding.Finding{finding.New("service/not_known", finding.Warn,
			"whether its user can read the files is not known", name+" cannot run "+exe,
			"install the program at /usr/bin/ticketrail")}
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Level != finding.Fail })
}

// writable finds the files of the configuration that the service may not write. Relative names are the usual
// cause: they begin at the folder of the configuration, which is read-only for the service.
func writable(s map[string]string, conf *config.Config) (out []finding.Finding) {
	if s["ProtectSystem"] != "strict" {
		return nil
	}
	var folders []string
	for base, names := range map[string]string{
		"/var/lib": s["StateDirectory"], "/var/log": s["LogsDirectory"],
		"/run": s["RuntimeDirectory"], "/": s["ReadWritePaths"],
	} {
		for _, name := range strings.Fields(names) {
			folders = append(folders, filepath.Join(base, strings.TrimLeft(name, "-+")))
		}
	}

	slices.Sort(folders)
	for key, path := range map[string]string{"storage.path": conf.Storage.Path, "admin.socket": conf.Admin.Socket} {
		inside := func(folder string) bool { return strings.HasPrefix(path, folder+"/") }
		if !slices.ContainsFunc(folders, inside) {
			out = append(out, finding.New("service/not_writable/"+key, finding.Fail, "it may not write "+key,
				path+", ProtectSystem=strict",
				"use a file below "+cmp.Or(strings.Join(folders, " or "), "a StateDirectory")))
		}
	}
	return out
}
