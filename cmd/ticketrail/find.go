package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	yaml "go.yaml.in/yaml/v3"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
)

// daemon returns the client of the running daemon: at --socket, else where the
// environment or the configuration says.
//
// Only admin.socket is read, and a configuration that was not named and cannot be read
// (it is root's, or half edited at the worst moment) means the usual place: whoever asks
// why the kitchen gets nothing is not to be told about a misspelt key first.
func (c *cli) daemon() (*admin.Client, error) {
	if c.socket != "" {
		return admin.NewClient(c.socket), nil
	}
	s := os.Getenv(config.EnvName("admin.socket"))
	if s == "" {
		var err error
		if s, err = socketIn(c.config); err != nil && c.configNamed {
			return nil, &configError{fmt.Errorf("look for admin.socket: %w: name another file with --config, or the socket with --socket", err)}
		}
	}
	s = cmp.Or(s, config.Default().Admin.Socket)
	if !filepath.IsAbs(s) { // names in the configuration begin at its folder
		s = filepath.Join(filepath.Dir(c.config), s)
	}
	return admin.NewClient(s), nil
}

func socketIn(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var f struct {
		Admin struct {
			Socket string `yaml:"socket"`
		} `yaml:"admin"`
	}
	if err := yaml.Unmarshal(b, &f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return f.Admin.Socket, nil
}
