import AgentModel

extension TimelinePicture {
    /// Which access points get a line: those of known networks, as many as can be told apart.
    struct Lines {
        struct Line {
            /// Index in the timeline's signals.
            let accessPoint: Int
            let signal: Timeline.Signal
            let paint: Palette.Paint
        }

        let shown: [Line]
        /// What was left out, in words.
        let omissions: [String]

        private static let limit = 12

        init(of timeline: Timeline, in scenario: Scenario) {
            let signals = timeline.signals
            let known = Set(scenario.networks.map(\.ssid))
            let used = Set(timeline.stays.map(\.accessPoint))
            let candidates = signals.indices.filter { used.contains($0) || known.contains(signals[$0].ssid) }
            let strongest = candidates.sorted { signals[$0].peak > signals[$1].peak }
            let chosen = strongest.filter(used.contains) + strongest.filter { !used.contains($0) }
            shown = chosen.prefix(Self.limit).sorted().enumerated().map { index, accessPoint in
                Line(accessPoint: accessPoint, signal: signals[accessPoint], paint: Palette.paint(index))
            }
            omissions = Self.omissions(
                unknown: signals.count - candidates.count, known: max(0, candidates.count - Self.limit))
        }

        func line(of accessPoint: Int) -> Line? { shown.first { $0.accessPoint == accessPoint } }

        private static func omissions(unknown: Int, known: Int) -> [String] {
            [
                unknown > 0
                    ? counted(unknown, "access point", "access points") + " of networks that the device does not know"
                    : nil,
                known > 0
                    ? counted(known, "weaker access point", "weaker access points") + " of networks that it knows"
                    : nil,
            ].compactMap(\.self)
        }
    }
}

extension Timeline.Signal {
    /// The strongest sample in dBm.
    fileprivate var peak: Double { finiteSamples.max() ?? -.infinity }

    var finiteSamples: [Double] { samples.compactMap(\.self).filter(\.isFinite) }

    /// In dBm, between the samples in proportion; nil while it is off.
    /// - Parameter place: 0 for the first sample, 1 for the second and so on.
    func level(at place: Double) -> Double? {
        let index = Int(place.clamped(to: 0...Double(max(samples.count - 1, 0))))
        guard let here = sample(index) else { return nil }
        guard let next = sample(index + 1) else { return here }
        return here + (next - here) * (place - Double(index)).clamped(to: 0...1)
    }

    func sample(_ index: Int) -> Double? {
        guard samples.indices.contains(index), let sample = samples[index], sample.isFinite else { return nil }
        return sample
    }
}
