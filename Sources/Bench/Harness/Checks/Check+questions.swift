import AgentModel
import AppProtocol

extension Check {
    static let questions = [
        Check("capabilities.get", "says what the device can do", section: "capabilities.get") { trial in
            let wire = try await trial.open()
            let capabilities: Capabilities = try await wire.get(.getCapabilities)
            try expect(
                "version 1 among the versions", capabilities.versions.contains(ProtocolLimits.version),
                got: "\(capabilities.versions)")
            try expect(
                "supportsBackupNetworks", capabilities.supportsBackupNetworks,
                is: capabilities.attributes.contains(.backupNetworks))
            let list: BackupList = try await wire.get(.getBackups)
            try expect("the maximum in backups.get", list.max, is: capabilities.maxBackupNetworks)
        },
        Check("capabilities.deviceId", "names the device that was asked for", section: "capabilities.get") { trial in
            let key = try trial.key()
            let capabilities: Capabilities = try await trial.open().get(.getCapabilities)
            try expect("deviceId", capabilities.deviceId, is: key.deviceId)
        },
        Check("network.get", "says where the device is connected", section: "network.get") { trial in
            let wire = try await trial.open()
            let answer = try await wire.ask(.getNetwork)
            let status = try answer.body(of: .getNetwork, as: NetworkStatus.self)
            let body = answer.json["body"]
            let numbers = ["wifi": 0, "wired": 1, "cellular": 2]
            try expect(
                "network for this uplink", body?["network"]?.integer, is: body?["uplink"]?.text.flatMap { numbers[$0] })
            try expect("quality for this signal", body?["quality"]?.integer, is: status.quality)
            if status.state == .online {
                try expect("an SSID while it is online", status.ssid != nil, got: "none")
                try expect("an address while it is online", !status.addresses.isEmpty, got: "none")
            }
        },
        Check("network.get.flags", "the flags are those of the uplink and the state", section: "network.get") { trial in
            let status: NetworkStatus = try await trial.open().get(.getNetwork)
            if status.flags.contains(.switchInProgress) {
                try expect("no second switch during one", !status.flags.contains(.canSwitch), got: "flag 2 with flag 4")
            }
            if status.uplink == .wired || status.uplink == .cellular {
                try expect("no switch over this uplink", !status.flags.contains(.canSwitch), got: "flag 2")
            }
        },
        Check("backups.get", "says what is stored, and no password", section: "backups.get") { trial in
            let list: BackupList = try await trial.open().get(.getBackups)
            try expect("at most \(list.max) networks", list.networks.count <= list.max, got: "\(list.networks.count)")
            try expect(
                "each name once", Set(list.networks.map(\.ssid)).count == list.networks.count, got: "one twice")
        },
        Check("backups.get.hashes", "the hashes are those of the known passwords", section: "Names of networks") {
            trial in
            let key = try trial.key()
            let list: BackupList = try await trial.open().get(.getBackups)
            let known = list.networks.compactMap { network in trial.bench.network(network.ssid).map { (network, $0) } }
            guard !known.isEmpty else { throw Obstacle("needs a stored network that is in --networks") }
            for (stored, network) in known {
                let hash = NetworkHash(localKey: key.localKey, ssid: network.ssid, password: network.password)
                try expect("the hash of \(network.ssid)", stored.hash, is: hash)
            }
        },
        Check("history.get", "tells the last decisions, oldest first", section: "history.get") { trial in
            let wire = try await trial.open()
            let history: History = try await wire.get(.getHistory)
            let numbers = history.decisions.map(\.seq)
            try expect("rising numbers", zip(numbers, numbers.dropFirst()).allSatisfy(<), got: "\(numbers)")
            try expect("at most 20 decisions", numbers.count <= 20, got: "\(numbers.count)")
            let moments = history.decisions.map(\.monotonicMs)
            try expect("moments in order", zip(moments, moments.dropFirst()).allSatisfy(<=), got: "\(moments)")
        },
        Check("history.get.limit", "tells no more than is asked for, the newest", section: "history.get") { trial in
            let wire = try await trial.open()
            let one: History = try await wire.get(.getHistory, ["limit": 1])
            try expect("at most one decision", one.decisions.count <= 1, got: "\(one.decisions.count)")
            let all: History = try await wire.get(.getHistory, ["limit": 200])
            try expect("at most 200 decisions", all.decisions.count <= 200, got: "\(all.decisions.count)")
            // A decision may have come between the two questions.
            if let newest = one.decisions.last, let last = all.decisions.last {
                try expect("the newest decision last", last.seq >= newest.seq, got: "\(last.seq) after \(newest.seq)")
            } else {
                try expect(
                    "some decision, or none, in both", one.decisions.isEmpty == all.decisions.isEmpty, got: "not so")
            }
        },
        Check("switch.get.unknown", "a switch that never was is an unknownSwitch", section: "switch.get") { trial in
            let wire = try await trial.open()
            for id in ["harness-none", "", String(repeating: "s", count: 1000), "../..", "\u{0}"] {
                try await wire.ask(.getSwitch, ["switchId": .text(id)]).expectRefusal(.unknownSwitch)
            }
        },
        Check("switch.confirm.unknown", "nor can it be confirmed", section: "switch.confirm") { trial in
            try await trial.open().ask(.confirmSwitch, ["switchId": "harness-none"]).expectRefusal(.unknownSwitch)
        },
    ]
}
