extension HouseLife {
    /// Returns the life as a scenario.
    /// - Parameter day: returns only this day, from 0, beginning in the state that the days before left; nil for all.
    public func scenario(day: Int? = nil) throws(ScenarioError) -> Scenario {
        let start = (day ?? 0) * Self.day
        let length = day == nil ? span.seconds : Self.day
        var house = Draft()
        for happening in happenings where happening.at < start { house.play(happening, in: nil, to: nil) }
        var scenario = try Scenario(
            parsing: Array(house.text(seconds: length).utf8), name: "house-\(seed)", file: "house")
        for happening in happenings where (start..<(start + length)).contains(happening.at) {
            house.play(
                happening, in: scenario.networks,
                to: { scenario.happenings.append(.init(at: .seconds($0 - start), $1)) })
        }
        return scenario
    }

    /// The state of the house that outlives a day: home's password and router.
    private struct Draft {
        private static let homes = ["home0", "home1"]
        private static let channels = ["home0": 1, "home1": 6, "backup": 11]
        private static let levels = ["home0": -52, "home1": -54, "backup": -62]

        private var router = 0
        private var password = 0

        private func names(_ place: Place) -> [String] {
            switch place {
            case .home: [Self.homes[router]]
            case .backup: ["backup"]
            default: [Self.homes[router], "backup"]
            }
        }

        func text(seconds: Int) -> String {
            func accessPoint(_ name: String, _ ssid: String, _ password: String, _ isOn: Bool) -> String {
                "ap \(name) \(ssid) channel \(Self.channels[name] ?? 3) signal \(Self.levels[name] ?? -45) "
                    + "shadowing 2 over 60s fading 2 password \(password)\(isOn ? "" : " off")\n"
            }
            let head = """
                title A house
                about A home network and a backup.
                duration \(seconds)s
                set validation on
                network Home password home-word-\(password) preferred
                network Backup password backup-word

                """
            return head + accessPoint("home0", "Home", "home-word-\(password)", router == 0)
                + accessPoint("home1", "Home", "home-word-\(password)", router == 1)
                + accessPoint("backup", "Backup", "backup-word", true)
                + accessPoint("twin", "Home", "not-the-right-one", false)
        }

        /// Appends the happening's changes with their times in seconds, and keeps what lasts.
        /// - Parameter networks: home and backup; nil if `add` is.
        mutating func play(
            _ happening: Happening, in networks: [Scenario.Network]?, to add: ((Int, Scenario.Change) -> Void)?
        ) {
            let (at, end) = (happening.at, happening.end)
            let names = names(happening.place)
            func each(_ moment: Int, _ change: (String) -> Scenario.Change) {
                for name in names { add?(moment, change(name)) }
            }
            switch happening.kind {
            case .routerRestarts:
                each(at) { .power(ap: $0, isOn: false) }
                each(at) { .internet(ap: $0, .dead) }
                each(end) { .power(ap: $0, isOn: true) }
                each(end + 20) { .internet(ap: $0, .online) }
            case .routerReplaced:
                each(at) { .power(ap: $0, isOn: false) }
                router = 1 - router
                add?(end, .power(ap: Self.homes[router], isOn: true))
            case .passwordRotated:
                password += 1
                for name in Self.homes { add?(at, .password(ap: name, "home-word-\(password)")) }
                if let home = networks?.first { add?(end, .newPassword(network: home.ssid, "home-word-\(password)")) }
            case .channelJammed:
                let centre = 2407 + 5 * (Self.channels[names[0]] ?? 1)
                let loss = happening.seconds.isMultiple(of: 2) ? 1 : 0.5
                add?(at, .interference((centre - 11)...(centre + 11), loss: loss, for: .seconds(happening.seconds)))
            case .signalFades:
                let level = Self.levels[names[0]] ?? -60
                each(at) { .signal(ap: $0, -86, over: .seconds(happening.seconds / 4)) }
                each(end) { .signal(ap: $0, level, over: .zero) }
            case .providerFails, .namesFail:
                each(at) { .internet(ap: $0, .dead) }
                each(end) { .internet(ap: $0, .online) }
            case .leaseEnds:
                each(at) { .address(ap: $0, nil) }
                each(at) { .power(ap: $0, isOn: false) }
                each(at + 5) { .power(ap: $0, isOn: true) }
                each(end) { .address(ap: $0, .milliseconds(300)) }
            case .networksGone:
                each(at) { .power(ap: $0, isOn: false) }
                each(end) { .power(ap: $0, isOn: true) }
            case .twinAppears:
                add?(at, .power(ap: "twin", isOn: true))
                add?(end, .power(ap: "twin", isOn: false))
            case .commandedAway:
                for (time, network) in zip([end, at], networks ?? []) {
                    add?(time, .command(network: network.ssid, confirmWithin: nil, confirmAfter: nil))
                }
            case .supplicantKilled, .powerCut, .firmwareCrashes, .stickPulled:
                add?(at, .supplicantDies(backAfter: .seconds(happening.seconds)))
            case .appsConnect, .brokerFails, .agentKilled, .diskFull, .diskSlow, .clockSteps: break
            }
        }
    }
}
