import AgentModel

extension Scenario {
    /// Whether an access point of the preferred network loses more than half of the traffic, for its signal or its internet,
    /// for a minute at least, while something good is in range: where altnet has to be much better than the others, which
    /// never leave a living link, or only within a network.
    public var isHard: Bool {
        let world = World(self, seed: 1)
        let known = world.accessPoints.filter { world.network(of: $0) != nil }
        let home = known.filter { world.network(of: $0).map { networks[$0].isPreferred } ?? false }
        var troubled = [Int64](repeating: 0, count: home.count)
        var start: Int64 = 0
        while start < world.passLength {
            let window = start..<min(start + Self.look, world.passLength)
            let losses = known.map { world.lostTime(of: $0, in: window) / Double(window.count) }
            if losses.contains(where: { $0 < 0.1 }) {
                for (index, ap) in home.enumerated()
                where loss(of: ap, among: known, losses) > 0.5 && world.isWanted(ap, at: .milliseconds(start)) {
                    troubled[index] += Int64(window.count)
                }
            }
            start = window.upperBound
        }
        return troubled.contains { $0 >= 60_000 }
    }

    /// In milliseconds.
    private static let look: Int64 = 10_000

    private func loss(of accessPoint: Int, among known: [Int], _ losses: [Double]) -> Double {
        zip(known, losses).first { $0.0 == accessPoint }?.1 ?? 0
    }
}

extension World {
    /// Whether a device could be there, and needs to be anywhere.
    fileprivate func isWanted(_ accessPoint: Int, at time: Duration) -> Bool {
        let state = state(of: accessPoint, at: time)
        return state.isOn && state.admission == .admitted && isInDemand(at: time)
    }
}
