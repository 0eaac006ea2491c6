// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	code     = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	unslug   = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	markdown = regexp.MustCompile(`[\x60*]|\[([^\]]*)\]\([^)]*\)`)
)

func TestLinksInDocumentsResolve(t *testing.T) {
	texts := map[string]string{}
	for _, f := range files(t, ".md") {
		texts[f.path] = fenced.ReplaceAllString(f.text, "")
	}
	for from, text := range texts {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: link %s: %v", from, m[1], err)
				continue
			}
			if u.Scheme != "" || u.Host != "" {
				continue
			}
			to := from
			if u.Path != "" {
				to = path.Join(path.Dir(from), u.Path)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil || strings.HasPrefix(to, "../") {
				t.Errorf("%s: link %s leads nowhere", from, m[1])
			} else if target, ok := texts[to]; ok && u.Fragment != "" && !slices.Contains(anchors(target), u.Fragment) {
				t.Errorf("%s: link %s: %s has no such heading", from, m[1], to)
			}
		}
	}
}

// anchors are the names by which a document's headings can be linked.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		plain := markdown.ReplaceAllString(m[1], "$1")
		slug := strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(plain), ""), " ", "-")
		name := slug
		for n := 1; slices.Contains(names, name); n++ {
			name = slug + "-" + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}
