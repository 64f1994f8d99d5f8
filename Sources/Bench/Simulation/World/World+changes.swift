import AgentModel

// Changes a world during a device's run. A world is a function of time, so each change creates a new world.
extension World {
    /// Returns a world that equals this one until `now` and then has the changes.
    ///
    /// Drops past events that a change replaces, so that a world does not grow over days.
    /// - Parameter changes: changes in the order in which they happen.
    /// - Returns: the world, and the number of its new events at `now`.
    func changed(by changes: [Scenario.Change], at now: Int64) -> (world: World, coming: Int) {
        var scenario = scenario
        var new: [Scenario.Change] = []
        for change in changes {
            new += beginning(of: change, at: now) + [change]
            let subject = Subject(change)
            scenario.happenings.removeAll { old in
                let end = (old.at + old.change.length).milliseconds
                return end < now - SimulatedDevice.noticeTime && (Subject(old.change) == subject || old.change.isBrief)
            }
        }
        scenario.happenings += new.map { Scenario.Happening(at: .milliseconds(now), $0) }
        return (World(scenario, seed: seed), new.count)
    }

    func knowing(_ networks: [Scenario.Network]) -> World {
        var scenario = scenario
        scenario.networks = networks
        return World(scenario, seed: seed)
    }

    /// Returns a change that sets the current value before a gradual change, because earlier events may be dropped.
    private func beginning(of change: Scenario.Change, at now: Int64) -> [Scenario.Change] {
        switch change {
        case .signal(let name, _, let time) where time > .zero:
            guard let index = scenario.accessPoints.firstIndex(where: { $0.name == name }),
                case .levels(let levels) = tracks[index].place
            else { return [] }
            let level = levels.step(at: now).value.value(at: now)
            return [.signal(ap: name, Int(level.rounded()), over: .zero)]
        case .move(_, let time) where time > .zero:
            return [.move(to: motion.step(at: now).value.position(at: now), over: .zero)]
        default: return []
        }
    }
}

/// Subject of a change. A later change with the same subject replaces an earlier one.
private enum Subject: Hashable {
    case power(String), signal(String), internet(String), address(String), full(String), password(String)
    case passwordGiven(SSID)
    case place, uplink
    case other

    init(_ change: Scenario.Change) {
        self =
            switch change {
            case .power(let name, _): .power(name)
            case .signal(let name, _, _): .signal(name)
            case .internet(let name, _): .internet(name)
            case .address(let name, _): .address(name)
            case .full(let name, _): .full(name)
            case .password(let name, _): .password(name)
            case .newPassword(let ssid, _): .passwordGiven(ssid)
            case .move: .place
            case .otherUplink: .uplink
            case .interference, .command, .suspend, .supplicantDies, .restart: .other
            }
    }
}

extension Scenario.Change {
    /// Whether the change has no effect after its end.
    fileprivate var isBrief: Bool {
        switch self {
        case .interference, .command, .suspend, .supplicantDies, .restart: true
        case .power, .signal, .internet, .address, .full, .password, .newPassword, .move, .otherUplink: false
        }
    }
}
