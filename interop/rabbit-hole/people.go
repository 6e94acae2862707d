package main

import (
	"net/http"
	"reflect"

	rabbithole "github.com/michaelklishin/rabbit-hole/v3"
)

// The users that are declared here. The password of each is its name.
var users = []string{"rabbit-hole-one", "rabbit-hole-two", "rabbit-hole/three"}

func (n *node) users() {
	one, two, three := users[0], users[1], users[2]
	response, err := n.client.PutUser(one, rabbithole.UserSettings{Password: one, Tags: []string{"management", "policymaker"}})
	status(http.StatusCreated, response, err)
	response, err = n.client.PutUser(one, rabbithole.UserSettings{Password: one, Tags: []string{"management"}})
	status(http.StatusNoContent, response, err)
	hash := rabbithole.Base64EncodedSaltedPasswordHashSHA512(two)
	settings := rabbithole.UserSettings{PasswordHash: hash, HashingAlgorithm: rabbithole.HashingAlgorithmSHA512, Tags: []string{"monitoring"}}
	response, err = n.client.PutUser(two, settings)
	status(http.StatusCreated, response, err)
	response, err = n.client.PutUserWithoutPassword(three, rabbithole.UserSettings{Tags: []string{}})
	status(http.StatusCreated, response, err)

	found, err := n.client.GetUser(two)
	must(err)
	check(found.PasswordHash == hash && found.HashingAlgorithm == rabbithole.HashingAlgorithmSHA512, "%+v", found)
	check(reflect.DeepEqual(found.Tags, rabbithole.UserTags{"monitoring"}), "%v", found.Tags)
	list, err := n.client.ListUsers()
	must(err)
	find(list, func(u rabbithole.UserInfo) bool { return u.Name == three && u.PasswordHash == "" && len(u.Tags) == 0 })
	list, err = n.client.ListUsersWithoutPermissions()
	must(err)
	for _, user := range users {
		find(list, func(u rabbithole.UserInfo) bool { return u.Name == user })
	}
	for _, user := range users[:2] {
		client, err := rabbithole.NewClient(n.http, user, user)
		must(err)
		who, err := client.Whoami()
		must(err)
		check(who.Name == user && len(who.Tags) == 1, "%+v", who)
	}
	response, err = n.client.BulkDeleteUsers([]string{three})
	status(http.StatusNoContent, response, err)
	_, err = n.client.GetUser(three)
	refused(http.StatusNotFound, "", err)
}

func (n *node) permissions() {
	one := users[0]
	wanted := rabbithole.Permissions{Configure: "^mine", Write: "", Read: ".*"}
	for _, code := range []int{http.StatusCreated, http.StatusNoContent} {
		response, err := n.client.UpdatePermissionsIn(host, one, wanted)
		status(code, response, err)
	}
	found, err := n.client.GetPermissionsIn(host, one)
	must(err)
	whole := rabbithole.PermissionInfo{User: one, Vhost: host, Configure: "^mine", Write: "", Read: ".*"}
	check(found == whole, "%+v", found)
	list, err := n.client.ListPermissionsOf(one)
	must(err)
	check(reflect.DeepEqual(list, []rabbithole.PermissionInfo{whole}), "%+v", list)
	list, err = n.client.ListPermissions()
	must(err)
	find(list, func(p rabbithole.PermissionInfo) bool { return p == whole })

	// All topic permissions of a user in a virtual host are one resource.
	for index, exchange := range []string{"amq.topic", "events/all"} {
		topic := rabbithole.TopicPermissions{Exchange: exchange, Write: "^a", Read: "^b"}
		response, err := n.client.UpdateTopicPermissionsIn(host, one, topic)
		status([]int{http.StatusCreated, http.StatusNoContent}[index], response, err)
	}
	topics, err := n.client.GetTopicPermissionsIn(host, one)
	must(err)
	check(len(topics) == 2, "%+v", topics)
	row := rabbithole.TopicPermissionInfo{User: one, Vhost: host, Exchange: "events/all", Write: "^a", Read: "^b"}
	find(topics, func(t rabbithole.TopicPermissionInfo) bool { return t == row })
	topics, err = n.client.ListTopicPermissionsOf(one)
	must(err)
	check(len(topics) == 2, "%+v", topics)
	topics, err = n.client.ListTopicPermissions()
	must(err)
	find(topics, func(t rabbithole.TopicPermissionInfo) bool { return t == row })
	if n.has("deletion of one topic permission") {
		response, err := n.client.DeleteTopicPermissionsIn(host, one, "events/all")
		status(http.StatusNoContent, response, err)
		topics, err = n.client.GetTopicPermissionsIn(host, one)
		must(err)
		check(len(topics) == 1, "%+v", topics)
	}
	response, err := n.client.ClearTopicPermissionsIn(host, one)
	status(http.StatusNoContent, response, err)
	_, err = n.client.GetTopicPermissionsIn(host, one)
	refused(http.StatusNotFound, "", err)
	response, err = n.client.ClearPermissionsIn(host, one)
	status(http.StatusNoContent, response, err)
	_, err = n.client.GetPermissionsIn(host, one)
	refused(http.StatusNotFound, "", err)
}
