package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const redacted = "********"

// Secret is text that must not be shown. However it is printed, logged or encoded, the result is
// asterisks; only [Secret.Reveal] returns the text.
type Secret struct{ text string }

// NewSecret returns text that must not be shown.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the secret, for the code that must compare or send it.
func (s Secret) Reveal() string { return s.text }

// MarshalText is for JSON and logs.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format covers every verb, including %x and %+v, which would otherwise show the field.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

const minSecret = 22 // characters of six bits each: a little more than 128 bits

// readSecrets reads a file of one or two secret path segments. Its errors never contain the file's
// text.
func readSecrets(name string) ([]Secret, error) {
	lines, err := secretLines(name)
	if err != nil {
		return nil, err
	}
	if len(lines) > 2 {
		return nil, fmt.Errorf("%s has %d lines; at most two secrets are allowed, one per line", name, len(lines))
	}

	var secrets []Secret
	for i, l := range lines {
		if why := secretProblem(l); why != "" {
			return nil, fmt.Errorf("line %d of %s %s; generate one with: %s",
				i+1, name, why, "head -c 24 /dev/urandom | base64 | tr +/ -_")
		}
		secrets = append(secrets, Secret{l})
	}

	if len(secrets) == 2 && secrets[0] == secrets[1] {
		return nil, fmt.Errorf("both lines of %s are the same secret; keep one", name)
	}
	return secrets, nil
}

// secretProblem returns why s cannot be a secret path segment, or "".
func secretProblem(s string) string {
	distinct := map[rune]bool{}
	for _, r := range s {
		if !strings.ContainsRune(wordLetters, r) {
			return "contains characters other than A-Z a-z 0-9 - _"
		}
		distinct[r] = true
	}

	switch {
	case len(s) < minSecret:
		return fmt.Sprintf("has %d characters; a secret has at least %d", len(s), minSecret)
	case len(distinct) < 8:
		return "has too few different characters and can be guessed"
	}

	return ""
}

// secretLines returns the lines of a small file that are not blank, at least one.
func secretLines(name string) ([]string, error) {
	data, err := readSmall(name, 4<<10)
	if err != nil {
		return nil, err
	}

	var lines []string
	for l := range bytes.Lines(data) {
		if l = bytes.TrimSpace(l); len(l) > 0 {
			lines = append(lines, string(l))
		}
	}

	if len(lines) == 0 {
		return nil, fmt.Errorf("%s is empty", name)
	}
	return lines, nil
}

// secretLine returns the only line of a small file.
func secretLine(name string) (string, error) {
	lines, err := secretLines(name)
	if err != nil {
		return "", err
	}
	if len(lines) != 1 {
		return "", fmt.Errorf("%s has %d lines; it must have only one", name, len(lines))
	}
	return lines[0], nil
}

// readFile reads a regular file of at most limit bytes, so that a wrong name that leads to a pipe
// or to /dev/zero neither blocks the daemon nor fills its memory. missing is the advice if there is
// no such file.
func readFile(name string, limit int64, missing string) ([]byte, error) {
	st, err := os.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(name)
	}
	if err != nil {
		do := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			do = "; " + missing
		case errors.Is(err, fs.ErrPermission):
			do = "; make it readable for the user that runs ticketrail, with chgrp and chmod g+r"
		}
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return nil, fmt.Errorf("%s: %w%s", name, err, do)
	}

	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %v; is it the right file?", name, Size(limit))
	}
	return data, err
}

// readSmall is readFile for files that the configuration names.
func readSmall(name string, limit int64) ([]byte, error) {
	return readFile(name, limit, "correct the path or create the file")
}
