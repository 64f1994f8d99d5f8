import AgentModel
import AppProtocol

extension Check {
    /// Switches that go nowhere, for which no other network is needed.
    static let switches = [
        to("unknownNetwork", "a hash that the device does not know is an unknownNetwork") { trial in
            let wire = try await trial.open()
            _ = try await trial.online(wire)
            try await wire.ask(.switchNetwork, ["hash": .text(unknownHash)]).expectRefusal(
                .unknownNetwork, details: ["hash": .text(unknownHash)])
        },
        to("invalid", "an impossible network is refused by name") { trial in
            let wire = try await trial.open()
            let name = try trial.fresh().json
            let refusals: [(body: JSONValue, code: ErrorCode, field: String)] = [
                ([:], .malformed, "ssid"), (name, .passwordMissing, "password"),
                (["ssid": "", "security": "open"], .invalidSsid, "ssid"),
                (name.with(["password": "short"]), .invalidPassword, "password"),
                (name.with(["password": "12345678", "security": "enterprise"]), .unsupported, "security"),
                (["hash": "none"], .malformed, "hash"),
                (name.with(["sealed": "none"]), .malformed, "sealed"),
            ]
            for (body, code, field) in refusals {
                try await wire.ask(.switchNetwork, body).expectRefusal(code, field: "body.\(field)")
            }
        },
        to("uplink", "another uplink forbids a switch, whatever else is missing") { trial in
            let wire = try await trial.open()
            let status: NetworkStatus = try await wire.get(.getNetwork)
            guard status.flags.isDisjoint(with: [.canSwitch, .switchInProgress]) else {
                throw Obstacle("needs a device with another uplink than Wi-Fi, or without a Wi-Fi interface")
            }
            let code: ErrorCode = status.uplink == nil || status.uplink == .wifi ? .interfaceMissing : .cannotSwitch
            let network = try trial.fresh().json.with(["security": "open"])
            try await wire.ask(.switchNetwork, network).expectRefusal(code)
        },
        to("alreadyAssociated", "a switch to where the device is says so, and changes nothing") { trial in
            let wire = try await trial.listening()
            let status = try await trial.online(wire)
            guard let hash = status.hash else { throw Obstacle("the device is in a network that it has not stored") }
            for body: JSONValue in [["hash": .text(hash.base64)], ["hash": .text(hash.base64), "confirmWithin": 60]] {
                try await wire.ask(.switchNetwork, body).expectRefusal(.alreadyAssociated)
            }
            let after: NetworkStatus = try await wire.get(.getNetwork)
            try expect("the link as it was", after.since, is: status.since)
        },
        to("notFound", "a switch to what is not there ends where it began, as notFound") { trial in
            let (home, journey) = try await trial.goNowhere()
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try expect("the reason", journey.outcome.reason, is: ReasonCode(.notFound))
            try expect("a sentence", journey.outcome.text?.isEmpty == false, got: "none")
            try await trial.waitUntilOnline(in: home, on: nil)
        },
        to("oneOutcome", "a switch has one outcome, which can be read afterwards") { trial in
            let (home, journey) = try await trial.goNowhere()
            try await trial.waitUntilOnline(in: home, on: nil)
            let id: JSONValue = ["switchId": .text(journey.outcome.switchId)]
            let read: SwitchStatus = try await trial.open().get(.getSwitch, id)
            try expect("the outcome", read, is: journey.outcome)
            // Whatever else was told meanwhile.
            _ = try await journey.wire.ask(.getNetwork)
            while let event = try await journey.wire.nextEvent(within: .milliseconds(200)) {
                try expect(
                    "no progress after the outcome", event.progress?.switchId != journey.outcome.switchId,
                    got: event.progress?.phase.rawValue ?? "")
            }
        },
        to("inProgress", "a second switch is refused while one runs") { trial in
            let wire = try await trial.open()
            let position = try await wire.subscribe()
            let home = try await trial.online(wire)
            let accepted = try await trial.command(try await trial.entry(try trial.fresh(), on: wire), on: wire)
            let second = try await trial.entry(try trial.fresh(), on: wire)
            try await wire.ask(.switchNetwork, second).expectRefusal(
                .switchInProgress, details: ["switchId": .text(accepted.switchId)])
            let during: NetworkStatus = try await wire.get(.getNetwork)
            try expect(
                "flag 4, and not flag 2",
                during.flags.isDisjoint(with: .canSwitch) && during.flags.contains(.switchInProgress),
                got: "flags \(during.flags.rawValue)")
            let journey = try await trial.follow(accepted, on: wire, stream: position.stream, to: nil)
            try expect("the outcome", journey.outcome.phase, is: .rolledBack)
            try await trial.waitUntilOnline(in: try home.name, on: nil)
        },
        Check("switch.confirm.notWaiting", "what does not wait cannot be confirmed", section: "switch.confirm") {
            trial in
            let (home, journey) = try await trial.goNowhere(confirmWithin: 30)
            let id: JSONValue = ["switchId": .text(journey.outcome.switchId)]
            try await trial.waitUntilOnline(in: home, on: nil)
            try await trial.open().ask(.confirmSwitch, id).expectRefusal(
                .notWaiting, details: ["phase": .text(journey.outcome.phase.rawValue)])
        },
        to("listStands", "a switch that is rolled back leaves nothing in the list") { trial in
            let wire = try await trial.open()
            let before: BackupList = try await wire.get(.getBackups)
            let (home, _) = try await trial.goNowhere()
            try await trial.waitUntilOnline(in: home, on: nil)
            let after: BackupList = try await trial.open().get(.getBackups)
            try expect("the list as it was", after.shown, is: before.shown)
        },
    ]

    static func to(
        _ name: String, _ title: String, touchesBackups: Bool = false,
        _ body: @escaping @Sendable (Trial) async throws -> Void
    ) -> Check {
        Check("switch.\(name)", title, section: "network.switch", touchesBackups: touchesBackups, body)
    }
}

extension Trial {
    /// Commands a switch to a network that is not there, and follows it to its outcome.
    fileprivate func goNowhere(confirmWithin: Int? = nil) async throws -> (home: SSID, Journey) {
        let wire = try await open()
        let position = try await wire.subscribe()
        let home = try await online(wire)
        var entry = try await entry(try fresh(), on: wire)
        if let confirmWithin { entry = entry.with(["confirmWithin": .integer(confirmWithin)]) }
        let accepted = try await command(entry, on: wire)
        return (try home.name, try await follow(accepted, on: wire, stream: position.stream, to: nil))
    }
}

extension NetworkStatus {
    /// The network that the device is in, where that was checked before.
    var name: SSID {
        get throws(Obstacle) {
            guard let ssid else { throw Obstacle("the device is in no network") }
            return ssid
        }
    }
}
