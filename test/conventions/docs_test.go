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

// TestTheRulesAreWhereTheTableSays: the table of rules in the architecture names a
// function of the core in each row, in the file that it leads to.
func TestTheRulesAreWhereTheTableSays(t *testing.T) {
	rule := regexp.MustCompile(`(?m)^\| .* \| \[\x60(\w+)\.(\w+)\x60\]\(\.\./(pkg/core/\S+\.go)\) \|$`)
	text, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := rule.FindAllStringSubmatch(string(text), -1)
	if len(rules) < 20 {
		t.Errorf("the table has %d rules, want at least 20", len(rules))
	}
	for _, m := range rules {
		file, err := os.ReadFile(filepath.Join(root, m[3]))
		if err != nil {
			t.Errorf("%s.%s: %v", m[1], m[2], err)
			continue
		}
		decides := regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[2] + `[\[(]`)
		if !decides.Match(file) || path.Base(path.Dir(m[3])) != m[1] {
			t.Errorf("%s has no function %s.%s", m[3], m[1], m[2])
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
