package main

import (
	"net/http"
	"reflect"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"
)

func (n *node) policies() {
	definition := rabbithole.PolicyDefinition{"max-length": float64(10), "overflow": "reject-publish"}
	policy := rabbithole.Policy{Pattern: "^work", ApplyTo: "queues", Priority: 3, Definition: definition}
	for _, code := range []int{http.StatusCreated, http.StatusNoContent} {
		response, err := n.client.PutPolicy(host, "lengths/all", policy)
		status(code, response, err)
	}
	found, err := n.client.GetPolicy(host, "lengths/all")
	must(err)
	policy.Vhost, policy.Name = host, "lengths/all"
	check(reflect.DeepEqual(*found, policy), "%+v", found)
	list, err := n.client.ListPoliciesIn(host)
	must(err)
	check(reflect.DeepEqual(list, []rabbithole.Policy{policy}), "%+v", list)
	list, err = n.client.ListPolicies()
	must(err)
	find(list, func(p rabbithole.Policy) bool { return p.Vhost == host })
	list, err = n.client.ListMatchingPolicies(host, "work/all", rabbithole.PolicyTargetQueues)
	must(err)
	check(len(list) == 1, "%+v", list)
	ask := func() (*rabbithole.DetailedQueueInfo, error) { return n.client.GetQueue(host, "work/all") }
	eventually(ask, func(q *rabbithole.DetailedQueueInfo) bool { return q.Policy == "lengths/all" })
	_, err = n.client.PutPolicy(host, "wrong", rabbithole.Policy{Pattern: "(", ApplyTo: "all", Definition: definition})
	refused(http.StatusBadRequest, "pattern should be regular expression but is invalid", err)

	operator := rabbithole.OperatorPolicy{Pattern: ".*", ApplyTo: "queues", Definition: rabbithole.PolicyDefinition{"max-length": float64(5)}}
	for _, code := range []int{http.StatusCreated, http.StatusNoContent} {
		response, err := n.client.PutOperatorPolicy(host, "short", operator)
		status(code, response, err)
	}
	foundOperator, err := n.client.GetOperatorPolicy(host, "short")
	must(err)
	operator.Vhost, operator.Name = host, "short"
	check(reflect.DeepEqual(*foundOperator, operator), "%+v", foundOperator)
	operators, err := n.client.ListOperatorPoliciesIn(host)
	must(err)
	check(reflect.DeepEqual(operators, []rabbithole.OperatorPolicy{operator}), "%+v", operators)
	operators, err = n.client.ListOperatorPolicies()
	must(err)
	find(operators, func(p rabbithole.OperatorPolicy) bool { return p.Vhost == host })
	if n.has("negative delivery limits") {
		unlimited := rabbithole.OperatorPolicy{Pattern: ".*", ApplyTo: "queues", Definition: rabbithole.PolicyDefinition{"delivery-limit": float64(-1)}}
		_, err := n.client.PutOperatorPolicy(host, "unlimited", unlimited)
		must(err)
	}
	must(n.client.DeletePoliciesIn(host, []string{"lengths/all"}))
	must(n.client.DeleteOperatorPoliciesIn(host, []string{"short", "unlimited"}))
	list, err = n.client.ListPoliciesIn(host)
	must(err)
	check(len(list) == 0, "%+v", list)
}

func (n *node) limits() {
	ofHost := rabbithole.VhostLimitsValues{"max-connections": 100, "max-queues": 50}
	response, err := n.client.PutVhostLimits(host, ofHost)
	status(http.StatusNoContent, response, err)
	hosts, err := n.client.GetVhostLimits(host)
	must(err)
	check(reflect.DeepEqual(hosts, []rabbithole.VhostLimitsInfo{{Vhost: host, Value: ofHost}}), "%+v", hosts)
	hosts, err = n.client.GetAllVhostLimits()
	must(err)
	find(hosts, func(l rabbithole.VhostLimitsInfo) bool { return l.Vhost == host })
	response, err = n.client.DeleteVhostLimits(host, rabbithole.VhostLimits{"max-connections", "max-queues"})
	status(http.StatusNoContent, response, err)
	ofUser := rabbithole.UserLimitsValues{"max-connections": 10, "max-channels": 20}
	response, err = n.client.PutUserLimits(users[0], ofUser)
	status(http.StatusNoContent, response, err)
	people, err := n.client.GetUserLimits(users[0])
	must(err)
	check(reflect.DeepEqual(people, []rabbithole.UserLimitsInfo{{User: users[0], Value: ofUser}}), "%+v", people)
	people, err = n.client.GetAllUserLimits()
	must(err)
	find(people, func(l rabbithole.UserLimitsInfo) bool { return l.User == users[0] })
	response, err = n.client.DeleteUserLimits(users[0], rabbithole.UserLimits{"max-connections", "max-channels"})
	status(http.StatusNoContent, response, err)
}

func (n *node) parameters() {
	const name = "rabbit-hole-interop"
	value := map[string]any{"a": float64(1), "b": []any{"x", true}}
	for _, code := range []int{http.StatusCreated, http.StatusNoContent} {
		response, err := n.client.PutGlobalParameter(name, value)
		status(code, response, err)
	}
	global, err := n.client.GetGlobalParameter(name)
	must(err)
	check(global.Name == name && reflect.DeepEqual(global.Value, any(value)), "%+v", global)
	globals, err := n.client.ListGlobalParameters()
	must(err)
	find(globals, func(p rabbithole.GlobalRuntimeParameter) bool { return p.Name == name })
	response, err := n.client.DeleteGlobalParameter(name)
	status(http.StatusNoContent, response, err)
	_, err = n.client.GetGlobalParameter(name)
	refused(http.StatusNotFound, "", err)
	_, err = n.client.ListRuntimeParameters()
	must(err)
	_, err = n.client.PutRuntimeParameter("nothing", host, "x", value)
	refused(http.StatusBadRequest, "component nothing not found", err)
	cluster, err := n.client.GetClusterName()
	must(err)
	response, err = n.client.SetClusterName(*cluster)
	status(http.StatusNoContent, response, err)
	flags, err := n.client.ListFeatureFlags()
	must(err)
	flag := find(flags, func(f rabbithole.FeatureFlag) bool { return f.State == rabbithole.StateEnabled && f.Stability != "" })
	response, err = n.client.EnableFeatureFlag(flag.Name)
	status(http.StatusNoContent, response, err)
	if n.has("deprecated features") {
		_, err = n.client.ListDeprecatedFeatures()
		must(err)
		_, err = n.client.ListDeprecatedFeaturesUsed()
		must(err)
	}
}
