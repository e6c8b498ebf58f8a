package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// secretKeys are the keys whose values are secrets themselves, not names of files with secrets.
var secretKeys = []string{"notify.to[].url", "receiver.path"}

// credentials are where a URL may have a password or a token.
var credentials = regexp.MustCompile(`(://)[^/?#]*@|(https?://[^?#]*\?).*`)

// Redacted is the text of a configuration file for other people to read, with asterisks for secrets. It need not
// be valid, only YAML. Comments are left out, because an old secret is often kept in one, and so is the value of
// a key that does not exist: with a typing error, url is another word. No error contains text of the file.
func Redacted(data []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New("the file is not YAML, so its secrets cannot be found and it is left out")
	}

	redact(&doc, "", Keys())
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&doc); err != nil {
		return nil, fmt.Errorf("the file without its secrets cannot be written: %T", err)
	}
	return b.Bytes(), nil
}

// redact removes the secrets at path. Below a key that exists, such as a map of fields, everything is shown.
func redact(n *yaml.Node, path string, known []string) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	section := slices.ContainsFunc(known, func(k string) bool {
		return path == "" || strings.HasPrefix(k, path+".") || strings.HasPrefix(k, path+"[]")
	})

	shown := section || slices.ContainsFunc(known, func(k string) bool {
		return k == path || strings.HasPrefix(path, k+".") || strings.HasPrefix(path, k+"[]")
	})
	switch {
	case n.Kind == yaml.DocumentNode:
		redact(n.Content[0], path, known)
	case !shown || slices.Contains(secretKeys, path) || section && n.Kind == yaml.ScalarNode && n.Value != "":
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: redacted, Style: yaml.DoubleQuotedStyle}
	case n.Kind == yaml.ScalarNode:
		n.Value = credentials.ReplaceAllString(n.Value, "${1}${2}"+redacted)
	case n.Kind == yaml.SequenceNode:
		for _, one := range n.Content {
			redact(one, path+"[]", known)
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			key.HeadComment, key.LineComment, key.FootComment = "", "", ""
			redact(n.Content[i+1], strings.TrimPrefix(path+"."+key.Value, "."), known)
		}
	}
}
