import AgentModel

extension Double {
    /// With that many decimal places, 0 to 6; `-` for what is no number or beyond all sense.
    package func fixed(_ places: Int) -> String {
        let scale = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000][Swift.min(Swift.max(places, 0), 6)]
        let scaled = (self * Double(scale)).rounded()
        guard abs(scaled) < 1e18 else { return "-" }
        let whole = Int(scaled)
        let (quotient, remainder) = whole.magnitude.quotientAndRemainder(dividingBy: UInt(scale))
        let fraction = scale == 1 ? "" : "." + String(String(UInt(scale) + remainder).dropFirst())
        return (whole < 0 ? "-" : "") + "\(quotient)" + fraction
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    /// `0:05`, the way a clock shows hours and minutes.
    var hoursAndMinutes: String {
        let minutes = components.seconds / 60
        return "\(minutes / 60):\(twoDigits(minutes % 60))"
    }

    /// `0:05:07`: hours, minutes and seconds.
    var clock: String { "\(hoursAndMinutes):\(twoDigits(components.seconds % 60))" }

    /// `0:05:07.3`
    var clockWithTenths: String { "\(clock).\(milliseconds % 1000 / 100)" }

    /// How long, as a person would say it: `1.6 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`.
    var inWords: String {
        let seconds = Int64(inSeconds.rounded())
        func pair(_ large: Int64, _ largeUnit: String, _ small: Int64, _ smallUnit: String) -> String {
            small == 0 ? "\(large) \(largeUnit)" : "\(large) \(largeUnit) \(small) \(smallUnit)"
        }
        return switch seconds {
        case ..<1 where self < .seconds(1) && self > .zero: "\(inSeconds.fixed(2)) s"
        case ..<60: "\(inSeconds.fixed(inSeconds == inSeconds.rounded() ? 0 : 1)) s"
        case ..<3600: pair(seconds / 60, "min", seconds % 60, "s")
        case ..<86_400: pair(seconds / 3600, "h", seconds % 3600 / 60, "min")
        default: pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
        }
    }
}

private func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

/// `1 switch`, `2 switches`.
func counted(_ number: Int, _ one: String, _ many: String) -> String { "\(number) \(number == 1 ? one : many)" }
