// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"strings"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// LeaveFields leaves the fields that the Work says are the member's as the member has
// them, for obj is there already. One that somebody else owns is left out. One that
// nobody else owns would fall back to its default if it were: it is sent as it is.
func LeaveFields(w *propagation.Work, obj map[string]any, live *Observed) {
	for _, p := range memberFields(w) {
		if _, asked := p.In(obj); !asked {
			continue
		}
		last := len(p) - 1
		in := obj
		for _, name := range p[:last] {
			in = part(in, name)
		}
		if live.shares(p) {
			delete(in, p[last])
		} else if v, has := p.In(live.Object); has {
			in[p[last]] = v
		}
	}
}

func memberFields(w *propagation.Work) []kinds.Path {
	text := w.Annotations[propagation.AnnotationMemberFields]
	if text == "" {
		return nil
	}
	var all []kinds.Path
	for t := range strings.SplitSeq(text, ",") {
		if p, err := kinds.ParsePath(t); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// shares tells whether somebody else owns the field, or what it is in as a whole.
func (o *Observed) shares(p kinds.Path) bool {
	for _, spec := range o.Others {
		if owns(spec, p[1:]) {
			return true
		}
	}
	return false
}

// owns tells whether managed fields have the path. What is empty is owned as a whole.
func owns(fields map[string]any, p kinds.Path) bool {
	for _, name := range p {
		if len(fields) == 0 {
			return true
		}
		next, ok := fields["f:"+name].(map[string]any)
		if !ok {
			return false
		}
		fields = next
	}
	return true
}
