// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A kind that the hub cannot list, as with a conversion webhook that is gone, does not
// hide the others.
func TestGetShowsWhatCanBeListed(t *testing.T) {
	was := listTimeout
	listTimeout = 300 * time.Millisecond
	defer func() { listTimeout = was }()
	hangs := func(r *http.Request) *apierrors.StatusError {
		if strings.HasSuffix(r.URL.Path, "/deployments") {
			<-r.Context().Done()
		}
		return nil
	}
	for name, tc := range map[string]struct {
		refuse     func(*http.Request) *apierrors.StatusError
		args, want string
		says       string
	}{
		"all that is propagated, though its kind fails": {
			refuse: failing("/deployments", 500), args: "get -A -o name",
			want: "deployment.apps/broken deployment.apps/fine deployment.apps/waits clusterrole.rbac.authorization.k8s.io/shop",
			says: "templates of Deployment.apps that were never propagated are not shown: list deployments: ",
		},
		"a kind by its name": {
			refuse: failing("/deployments", 500), args: "get deploy -o name",
			want: "deployment.apps/broken deployment.apps/fine deployment.apps/waits",
			says: "templates of Deployment.apps that were never propagated are not shown: ",
		},
		"nothing else": {
			refuse: failing("/deployments", 500), args: "get -n empty -o name",
			says: "templates of Deployment.apps that were never propagated are not shown: list deployments: ",
		},
		"by labels, of which the kind's are not known": {
			refuse: failing("/deployments", 500), args: "get -A -l tier!=web -o name",
			want: "clusterrole.rbac.authorization.k8s.io/shop",
			says: "templates of Deployment.apps with these labels are not shown: list deployments: ",
		},
		"no answer at all": {
			refuse: hangs, args: "get -A -o name",
			want: "deployment.apps/broken deployment.apps/fine deployment.apps/waits clusterrole.rbac.authorization.k8s.io/shop",
			says: "templates of Deployment.apps that were never propagated are not shown: list deployments: no complete answer within 300ms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			hub := shopInEachState(t)
			hub.refuse = tc.refuse
			a := run(t, hub, strings.Fields(tc.args)...)
			a.wants(t, tc.says)
			if got := strings.Join(strings.Fields(a.out), " "); got != tc.want {
				t.Errorf("it shows %q, want %q", got, tc.want)
			}
			if strings.Count(a.err, "are not shown") != 1 || strings.Count(strings.TrimSpace(a.err), "\n") != 0 {
				t.Errorf("it says\n%s", a.err)
			}
		})
	}
}
