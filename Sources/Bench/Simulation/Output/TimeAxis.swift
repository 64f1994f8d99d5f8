/// The moments of an axis of time that are worth a mark: at most a dozen, evenly apart by what people count in.
struct TimeAxis {
    let step: Duration
    let marks: [Duration]

    init(_ duration: Duration) {
        let seconds: [Int64] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
        ]
        let fitting = seconds.first { duration <= .seconds($0) * 12 }
        // Longer than days are weeks, and as many of them as it takes.
        let weeks = duration.components.seconds / (12 * 604_800) + 1
        step = .seconds(fitting ?? 604_800 * weeks)
        marks = Array(sequence(first: .zero) { [step] in $0 + step }.prefix { $0 <= max(duration, .zero) })
    }

    func label(_ mark: Duration) -> String { step < .seconds(60) ? mark.clock : mark.hoursAndMinutes }
}
