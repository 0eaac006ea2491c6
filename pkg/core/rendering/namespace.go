// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import "strings"

// podSecurity begins the labels by which a namespace says what its Pods may do.
const podSecurity = "pod-security.kubernetes.io/"

// NamespaceLabels are the labels that a namespace has in a member which is made there
// for an object: what the hub's lets its Pods do, it lets them do.
func NamespaceLabels(hub map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range hub {
		if strings.HasPrefix(key, podSecurity) {
			out[key] = value
		}
	}
	return out
}
