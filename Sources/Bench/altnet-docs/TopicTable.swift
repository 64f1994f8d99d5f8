import MQTTBridge

enum TopicTable {
    static var text: String {
        let topics = Topics(prefix: "altnet", deviceId: "id")
        let rows: [(topic: String, qualityOfService: String, meaning: String)] = [
            (topics.availability, "1", "`online` or `offline`; the will"),
            (
                topics.status, "1",
                "network, what it reaches, outages of the day, firmware; at least every 15 minutes, with the time as "
                    + "`told`"
            ),
            (
                topics.signal, "0",
                "the signal, at most every 30 s (`ALTNET_MQTT_SIGNAL_S`), and only if it has changed"
            ),
            (topics.backups, "1", "the stored networks, without their passwords"),
            (
                topics.decision, "1",
                "a decision of the device, and why, as in [history.get](../reference/protocol.md#historyget)"
            ),
            (topics.switchProgress, "1", "the phases of a commanded switch"),
            (topics.outage, "1", "an outage that has ended: when, how long, why"),
            (topics.scan, "1", "the end of a requested scan"),
            (topics.request, "1", "questions and commands, to the device"),
            (topics.response, "1", "answers to requests that name no Response Topic"),
            (topics.homeAssistant, "1", "Home Assistant's select and buttons, to the device"),
            (topics.tunnelUp("ID"), "1", "[an app's connection](#apps-through-the-broker), to the device"),
            (topics.tunnelDown("ID"), "1", "the same connection, to the app"),
        ]
        return Markdown.table(
            ["topic", "kept by the broker", "QoS", "meaning"],
            rows.map { row in
                [
                    Markdown.code(String(row.topic.dropFirst(topics.base.count + 1))),
                    topics.retained.contains(row.topic) ? "yes" : "no", row.qualityOfService, row.meaning,
                ]
            })
    }
}
